"""What an export to LiteRT needs of its model, whether it comes from a run or from any checkpoint."""

from typing import TYPE_CHECKING, NamedTuple

from kbert.config import FinetuningConfig
from kbert.inference.loaded_model import LoadedModel
from kbert.inference.loading import open_model
from kbert.runs.run_directory import RunDirectory

if TYPE_CHECKING:
    from kbert.tasks.task import Task


class LiteRTSource(NamedTuple):
    """A model to export.

    Args:
      path: where it comes from, for messages.
      task: its `Task`. Once its weights are read, `answering` may have another one: a run may have a newer
        checkpoint by then.
      answering: the `LoadedModel` that answers.
      reading: the one that reads labelled files, see `LoadedModel.for_files`.
    """

    path: str
    task: "Task"
    answering: LoadedModel
    reading: LoadedModel


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
    reading = loaded.for_files(config, eval_file)
    # A file of pairs to compare on does not forbid single texts.
    answering = loaded if config is None else reading
    return LiteRTSource(loaded.source, answering.task, answering, reading)
