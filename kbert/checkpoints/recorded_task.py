"""What is known of a checkpoint's task beside its labels: how it answers, and how its files are read."""

import dataclasses

from kbert.checkpoints.bert_checkpoint import BertCheckpoint, RecordedTask
from kbert.config import DatasetConfig, FinetuningConfig
from kbert.runs.chosen_settings import Chosen
from kbert.tasks import TASKS


def task_of_run(run, chosen: Chosen | None) -> RecordedTask:
    """What a `RunDirectory` records.

    Args:
      run: the run.
      chosen: what its chosen.json has for the checkpoint that is read.
    """
    return RecordedTask(
        task_config=run.task().get_config(),
        dataset=getattr(run.config, "dataset", DatasetConfig()),
        task_settings=getattr(run.config, "task_settings", {}),
        best_metric=run.config.best_metric,
        chosen=chosen,
    )


def known_task(checkpoint: BertCheckpoint) -> RecordedTask:
    """What is recorded or, without a record, what follows from the labels: default settings."""
    if checkpoint.recorded is not None:
        return checkpoint.recorded
    task = TASKS[checkpoint.task].from_labels(checkpoint.labels).with_pooling(checkpoint.pooling)
    return RecordedTask(task.get_config(), default_columns(checkpoint.takes_pairs))


def default_columns(takes_pairs: bool | None) -> DatasetConfig:
    """Columns called "text", "text_pair" (of pairs) and "label"."""
    return DatasetConfig(text_pair="text_pair" if takes_pairs else None)


def with_config(checkpoint: BertCheckpoint, config: FinetuningConfig) -> BertCheckpoint:
    """The checkpoint with the columns, the `task_settings` and the length of a fine-tuning config.

    Args:
      checkpoint: of any format but kbert's own, which records all this.
      config: a config of its task. The labels are the checkpoint's: its logits stand in their order.

    Raises:
      ValueError: for a config of another task or with wrong settings, and for a length beyond the positions.
    """
    if config.task != checkpoint.task:
        raise ValueError(
            f"--config is for the task {config.task}, but {checkpoint.source} is "
            f"a model of {checkpoint.task}; give a config of its task."
        )
    positions = checkpoint.encoder.max_position_embeddings
    if config.max_seq_length > positions:
        raise ValueError(
            f"--config has max_seq_length={config.max_seq_length}, but {checkpoint.source} has {positions} "
            f"positions; give a config with max_seq_length={positions} or less."
        )
    task_class, dataset = TASKS[config.task], config.dataset
    if task_class.checkpoint.has_labels:
        dataset = dataclasses.replace(dataset, labels=checkpoint.labels)
    task = task_class.from_dataset(dataset, task_class.read_settings(config.task_settings))
    recorded = RecordedTask(
        task_config=task.with_pooling(checkpoint.pooling).get_config(),
        dataset=dataset,
        task_settings=config.task_settings,
        best_metric=config.best_metric,
    )
    return dataclasses.replace(checkpoint, recorded=recorded, max_seq_length=config.max_seq_length)
