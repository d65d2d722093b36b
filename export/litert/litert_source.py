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
      task: its `Task`. Once its weights are read, `loaded` may have another one: a run may have a newer
        checkpoint by then.
      loaded: the `LoadedModel`.
    """

    path: str
    task: "Task"
    loaded: LoadedModel


def to_litert_source(
    model: RunDirectory | LoadedModel, config: FinetuningConfig | None = None
) -> LiteRTSource:
    """The `LiteRTSource` of a run or of a loaded checkpoint.

    Args:
      model: a `RunDirectory`, or a `LoadedModel`.
      config: how labelled files are read, see `LoadedModel.for_files`.

    Raises:
      ValueError: as `open_model` and `LoadedModel.for_files` do.
    """
    loaded = open_model(model).for_files(config)
    return LiteRTSource(loaded.source, loaded.task, loaded)
