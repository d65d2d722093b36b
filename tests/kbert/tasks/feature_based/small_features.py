"""A small frozen encoder of four layers, tagged files, and configs of taggers on its layers."""

from pathlib import Path

from kbert.config import DatasetConfig, FinetuningConfig, OptimizerConfig
from kbert.inference.loaded_model import LoadedModel
from tests.conftest import tiny_finetuning_config
from tests.kbert.inference.random_model import random_model
from tests.kbert.runs.written_run import written_run
from tests.kbert.tasks.token_classification.small_conll import write_conll

NUM_LAYERS, HIDDEN_SIZE = 4, 16
WINDOW, ROW = 12, 10  # pieces and words: many sentences take several windows, some take several rows
NUM_TRAIN, NUM_DEV = 48, 15


def random_encoder() -> LoadedModel:
    """A bare encoder as `load` would give it."""
    return random_model(num_hidden_layers=NUM_LAYERS)[0]


def write_run(model: LoadedModel, folder: Path) -> Path:
    """The run of a bare encoder, of 0 steps."""
    return written_run(folder, model.task, model.model, model.vocabulary).path


def write_files(folder: Path) -> tuple[Path, Path]:
    """Training and development file."""
    return write_conll(folder / "train.conll", NUM_TRAIN, 1), write_conll(folder / "dev.conll", NUM_DEV, 2)


def config_of(settings=None, **changes) -> FinetuningConfig:
    values = {
        "task": "feature_based_tagging",
        "task_settings": {"window_length": WINDOW, "lstm_size": 8} | (settings or {}),
        "dataset": DatasetConfig(),
        "optimizer": OptimizerConfig(name="adamw", learning_rate=2e-2),
        "max_seq_length": ROW,
        "num_train_epochs": 2.0,
    }
    return tiny_finetuning_config(**values | changes)
