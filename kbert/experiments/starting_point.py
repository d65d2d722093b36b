"""Where a training begins: a checkpoint, random weights, or where the run itself already is."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kbert.config import EncoderConfig
from kbert.tokenization.vocabulary import Vocabulary


@dataclass(frozen=True)
class Start:
    """Where a training shall begin, as flags say it.

    Args:
      init_checkpoint: a checkpoint, see `kbert.checkpoints.formats.read_checkpoint`; None for random weights.
      do_lower_case, allow_unmatched: see there.
      from_scratch: take vocabulary and encoder shape of `init_checkpoint`, but not its weights.
      vocabulary: that of a training without `init_checkpoint`.
    """

    init_checkpoint: str | Path | None = None
    do_lower_case: bool | None = None
    allow_unmatched: tuple = ()
    from_scratch: bool = False
    vocabulary: Vocabulary | None = None

    @property
    def details(self) -> dict:
        """What run.json says of it."""
        return {"init_checkpoint": str(self.init_checkpoint) if self.init_checkpoint else None}


class StartingPoint(NamedTuple):
    """Where a training begins.

    Args:
      vocabulary: the `Vocabulary`.
      encoder: the `EncoderConfig`.
      initialize: function that gives a fresh model its weights, or None for random ones.
    """

    vocabulary: Vocabulary | None
    encoder: EncoderConfig | None
    initialize: Callable | None


def find_starting_point(start: Start, run_dir, encoder: EncoderConfig | None, task) -> StartingPoint:
    """Looks up where a training begins.

    A run that has a checkpoint goes on from it: the checkpoint that it once began from is not read again, and
    need not be there any more.

    Args:
      start: what was asked for.
      run_dir: the folder of the run.
      encoder: the config's encoder, or None to take the checkpoint's.
      task: the `Task`.

    Raises:
      ValueError: when the checkpoint cannot be read, or its encoder is not the config's.
    """
    from kbert.checkpoints import model_loading
    from kbert.checkpoints.formats import read_checkpoint

    run = started_run(run_dir)
    if run:
        return StartingPoint(run.vocabulary(), encoder or run.config.encoder, None)
    if not start.init_checkpoint:
        return StartingPoint(start.vocabulary, encoder, None)
    pretrained = read_checkpoint(start.init_checkpoint, start.do_lower_case, start.allow_unmatched)
    encoder = model_loading.agreed_encoder(encoder, pretrained)

    def initialize(model):
        model_loading.initialize(model, pretrained, getattr(task, "labels", ()))

    return StartingPoint(pretrained.vocabulary, encoder, None if start.from_scratch else initialize)


def started_run(run_dir):
    """The `RunDirectory` in a folder, if it has a checkpoint to go on from; else None.

    Raises:
      ValueError: when a run there is broken.
    """
    from kbert.runs.checkpoint import list_checkpoints
    from kbert.runs.run_directory import RunDirectory, holds_run

    if not holds_run(run_dir):
        return None
    run = RunDirectory(run_dir)
    return run if list_checkpoints(run.checkpoints) else None
