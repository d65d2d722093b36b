"""What an export to LiteRT needs of its model, whether it comes from a run or from any checkpoint."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kbert.checkpoints.as_run import needs_no_more_weights
from kbert.config import DatasetConfig, EncoderConfig, FinetuningConfig
from kbert.experiments.evaluation import held_out_part
from kbert.inference.loaded_model import LoadedModel
from kbert.runs.run_directory import RunDirectory
from kbert.tasks import TASKS
from kbert.tasks.file_columns import holds_pairs, require_read
from kbert.tokenization.vocabulary import Vocabulary

if TYPE_CHECKING:
    from kbert.tasks.task import Task

_CONFIG_OF_A_RUN = "--config is for checkpoints; a run records its own. Leave it out."
_FILES_OF_A_RUN = ("run.json", "config.json", "vocab.txt", "checkpoints")


class LiteRTSource(NamedTuple):
    """A model to export.

    Args:
      path: where it comes from, for messages.
      task: its `Task`.
      vocabulary: its `Vocabulary`.
      max_seq_length: the longest sequence that it was trained for.
      encoder: its `EncoderConfig`.
      dataset: the columns and labels of labelled files.
      best_metric: the metric that a report shows first.
      files: what is read of it; nothing may be written there.
      load: function to (task with what evaluations chose, Keras model).
      held_out: of a run with `dev_split`: function from the `LabelledFile` of its training file to the part
        that it was not trained on.
    """

    path: Path | str
    task: "Task"
    vocabulary: Vocabulary
    max_seq_length: int
    encoder: EncoderConfig
    dataset: DatasetConfig
    best_metric: str
    files: tuple[Path, ...]
    load: Callable[[], tuple["Task", Any]]
    held_out: Callable[[Any], Any] | None = None


def to_litert_source(
    model: RunDirectory | LoadedModel, config: FinetuningConfig | None = None, eval_file=None
) -> LiteRTSource:
    """The `LiteRTSource` of a run or of a loaded checkpoint.

    Args:
      model: a `RunDirectory`, or a `LoadedModel`.
      config: how labelled files are read for a checkpoint of others: columns, settings and metric of its
        task. A run, also a loaded one, has its own.
      eval_file: the labelled file to compare on: it says whether a checkpoint reads pairs, where neither that
        nor a config does.

    Raises:
      ValueError: for a run without a checkpoint, a config for a run, or a config of another task or of other
        labels than the checkpoint's.
    """
    run = model if isinstance(model, RunDirectory) else model.run
    if run is None:
        return _checkpoint_source(model, config, eval_file)
    if config is not None:
        raise ValueError(_CONFIG_OF_A_RUN)
    source = _run_source(run)
    return source if model is run else _as_loaded(source, model)


def _run_source(run) -> LiteRTSource:
    run.checkpoint()  # raises an error when there is none
    task = run.task()
    return LiteRTSource(
        path=run.path,
        task=task,
        vocabulary=run.vocabulary(),
        max_seq_length=run.details["max_seq_length"],
        encoder=run.config.encoder,
        dataset=getattr(run.config, "dataset", DatasetConfig()),
        best_metric=run.config.best_metric or task.best_metric,
        files=tuple(run.path / name for name in _FILES_OF_A_RUN),
        load=run.load_model,
        held_out=functools.partial(held_out_part, run) if "held_out" in run.details else None,
    )


def _as_loaded(source, loaded) -> LiteRTSource:
    """The source of a run with the checkpoint and the length of what was loaded of it."""
    return source._replace(
        task=loaded.task,
        max_seq_length=loaded.max_seq_length,
        load=lambda: (loaded.task, loaded.model),
    )


def _checkpoint_source(loaded, config, eval_file) -> LiteRTSource:
    task, takes_pairs, length = loaded.task, loaded.takes_pairs, loaded.max_seq_length
    if takes_pairs is None and eval_file and task.files is not None and config is None:
        takes_pairs = holds_pairs(eval_file)
    dataset = DatasetConfig(text_pair="text_pair" if takes_pairs else None)
    if config is not None:
        dataset = _labelled_dataset(loaded, config)
        settings = TASKS[config.task].read_settings(config.task_settings)
        task = TASKS[config.task].from_dataset(dataset, settings).with_pooling(loaded.own_pooling)
        task = task.with_activation(getattr(loaded.task, "activation", None))
        length = min(length, config.max_seq_length)  # the one that `kbert evaluate` reads a file with

    def load():
        own = task.name == loaded.task.name
        return task, loaded.model if own else task.build_model(loaded.encoder)

    return LiteRTSource(
        path=loaded.source,
        task=task,
        vocabulary=loaded.vocabulary,
        max_seq_length=length,
        encoder=loaded.config,
        dataset=dataset,
        best_metric=(config and config.best_metric) or task.best_metric,
        files=(Path(loaded.source),),
        load=load,
    )


def _labelled_dataset(loaded, config) -> DatasetConfig:
    """The config's dataset with the checkpoint's labels."""
    if config.task != loaded.task.name and not needs_no_more_weights(
        TASKS[TASKS.require(config.task)], loaded.task
    ):
        raise ValueError(
            f"--config is for the task {config.task}, but {loaded.source} is "
            f"a model of {loaded.task.name}; "
            "give a config of its task."
        )
    require_read(config.task, config.dataset)
    labels = tuple(getattr(loaded.task, "labels", ()))
    if config.dataset.labels and sorted(config.dataset.labels) != sorted(labels):
        raise ValueError(
            f"--config has the labels {list(config.dataset.labels)}, but {loaded.source} was trained for "
            f"{list(labels)}; give a config with its labels."
        )
    return dataclasses.replace(config.dataset, labels=labels)
