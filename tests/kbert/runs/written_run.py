"""A run with one checkpoint, written without any training: for tests of what reads runs."""

from pathlib import Path

from kbert.config import FinetuningConfig
from kbert.runs.checkpoint import save_checkpoint
from kbert.runs.run_directory import RunDirectory, trained_weights
from kbert.tasks import TASKS
from tests.conftest import MAX_SEQ_LENGTH, tiny_finetuning_config, tiny_pretraining_config


def written_run(folder: Path, task, model, vocabulary, **settings) -> RunDirectory:
    """The run of a model of a task, of 0 steps; `settings` are further ones of its config."""
    make = (
        tiny_finetuning_config if issubclass(task.config_class, FinetuningConfig) else tiny_pretraining_config
    )
    config = make(task=task.name, encoder=getattr(model, "encoder", model).config, **settings)
    details = TASKS.to_record(task) | {"max_seq_length": MAX_SEQ_LENGTH, "data": {"train": "none"}}
    run = RunDirectory.create_or_resume(folder, config, details, vocabulary)
    save_checkpoint(run.checkpoints, 0, trained_weights(model), {}, {"examples_consumed": 0}, keep=1)
    return run
