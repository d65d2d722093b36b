"""What an export to LiteRT needs of its model, whether it comes from a run or from any checkpoint."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kbert.checkpoints import formats
from kbert.config import EncoderConfig, FinetuningConfig
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.loading import open_model
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.vocabulary import Vocabulary

if TYPE_CHECKING:
    from kbert.tasks.task import Task


class LiteRTSource(NamedTuple):
    """A model to export.

    Args:
      path: where it comes from, for messages.
      task: its `Task`.
      vocabulary: its `Vocabulary`.
      max_seq_length: the longest sequence that it was trained for.
      encoder: its `EncoderConfig`.
      reading: the `LoadedModel` that reads labelled files, see `LoadedModel.for_files`.
      best_metric: the metric that a report shows first.
      files: what is read of it; nothing may be written there.
      load: function to (task with what evaluations chose, Keras model).
    """

    path: Path | str
    task: "Task"
    vocabulary: Vocabulary
    max_seq_length: int
    encoder: EncoderConfig
    reading: LoadedModel
    best_metric: str
    files: tuple[Path, ...]
    load: Callable[[], tuple["Task", Any]]


def to_litert_source(
    model: RunDirectory | LoadedModel, config: FinetuningConfig | None = None, eval_file=None
) -> LiteRTSource:
    """The `LiteRTSource` of a run or of a loaded checkpoint.

    Args:
      model: a `RunDirectory`, or a `LoadedModel`.
      config, eval_file: how labelled files are read, see `LoadedModel.for_files`.

    Raises:
      ValueError: as `open_model` and `LoadedModel.for_files` do.
    """
    loaded = open_model(model)
    run, reading = loaded.run, loaded.for_files(config, eval_file)
    # A file of pairs to compare on does not forbid single texts.
    answering = loaded if config is None else reading
    best_metric = reading.training_config.best_metric

    def load():
        keras_model = answering.model  # first: reading a run may find a newer checkpoint, with its task
        return answering.task, keras_model

    return LiteRTSource(
        path=run.path if run else loaded.source,
        task=answering.task,
        vocabulary=loaded.vocabulary,
        max_seq_length=reading.max_seq_length,
        encoder=loaded.config,
        reading=reading,
        best_metric=best_metric or answering.task.best_metric,
        files=tuple(formats.kept_files(run.path)) if run else (Path(loaded.source),),
        load=load,
    )
