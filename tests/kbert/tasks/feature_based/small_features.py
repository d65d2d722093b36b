"""A small frozen encoder of four layers, tagged files, and configs of taggers on its layers."""

from pathlib import Path

from kbert.config import DatasetConfig, FinetuningConfig, OptimizerConfig
from kbert.encoder import BertEncoder
from kbert.inference.loaded_model import LoadedModel
from kbert.runs.checkpoint import save_checkpoint
from kbert.runs.run_directory import RunDirectory, trained_weights
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config, tiny_finetuning_config
from tests.kbert.tasks.token_classification.small_conll import write_conll
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

NUM_LAYERS, HIDDEN_SIZE = 4, 16
WINDOW, ROW = 12, 10  # pieces and words: many sentences take several windows, some take several rows
NUM_TRAIN, NUM_DEV = 48, 15


def random_encoder() -> LoadedModel:
    """A bare encoder as `load` would give it."""
    task = TASKS["encoder"]()
    model = task.build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=NUM_LAYERS)))
    randomize(model)
    return LoadedModel("random", task, model, small_corpus.vocabulary(), 24)


def write_run(model: LoadedModel, folder: Path) -> Path:
    """The run of a bare encoder, of 0 steps."""
    config = tiny_finetuning_config(task="encoder", encoder=model.config)
    details = {"task": "encoder", "task_config": {}, "max_seq_length": 24}
    run = RunDirectory.create_or_resume(folder, config, details, model.vocabulary)
    state = {"examples_consumed": 0}
    save_checkpoint(run.checkpoints, 0, trained_weights(model.model), {}, state, keep=1)
    return run.path


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
