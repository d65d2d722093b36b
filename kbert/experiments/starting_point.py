"""What a training starts from: a checkpoint, random weights, or the newest checkpoint of the run itself."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kbert.config import EncoderConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.tokenization.vocabulary import Vocabulary


@dataclass(frozen=True)
class Start:
    """What a new training starts from, as given by flags.

    Args:
      init_checkpoint: a checkpoint, see `kbert.checkpoints.formats.read_checkpoint`; None for random weights.
      do_lower_case, allow_unmatched: arguments of `read_checkpoint`.
      from_scratch: use vocabulary and encoder shape of `init_checkpoint`, but not its weights.
      vocabulary: the vocabulary of a training without `init_checkpoint`.
      layers: the layers of `init_checkpoint` to take, counted from 0; empty for all.
    """

    init_checkpoint: str | Path | None = None
    do_lower_case: bool | None = None
    allow_unmatched: tuple = ()
    from_scratch: bool = False
    vocabulary: Vocabulary | None = None
    layers: tuple[int, ...] = ()

    @property
    def has_weights(self) -> bool:
        """Whether a checkpoint gives weights to start from."""
        return bool(self.init_checkpoint) and not self.from_scratch

    @property
    def details(self) -> dict:
        """What run.json records of it."""
        return {"init_checkpoint": str(self.init_checkpoint) if self.init_checkpoint else None}

    def require_casing(self, vocabulary: Vocabulary, owner):
        """Raises ValueError where `do_lower_case` contradicts the vocabulary of a start without checkpoint.

        Args:
          vocabulary: the `Vocabulary`, with its casing.
          owner: what it belongs to, for the message: a folder of records.
        """
        if not self.init_checkpoint and self.do_lower_case not in (None, vocabulary.do_lower_case):
            raise ValueError(
                f"do_lower_case={self.do_lower_case}, but the vocabulary of {owner} has do_lower_case="
                f"{vocabulary.do_lower_case}; leave it out, or make the records with the other casing."
            )


class StartingPoint(NamedTuple):
    """What a training starts from.

    Args:
      vocabulary: the `Vocabulary`, or None when none was given.
      encoder: the `EncoderConfig`, or None when none was given.
      initialize: function that sets the weights of a new model, or None for random weights.
      pooling: how it makes one vector of a text, a `PoolingConfig`; None where it does not say so.
    """

    vocabulary: Vocabulary | None
    encoder: EncoderConfig | None
    initialize: Callable | None
    pooling: PoolingConfig | None = None


def find_starting_point(
    start: Start, run_dir, encoder: EncoderConfig | None, task, begins_anew=None
) -> StartingPoint:
    """Finds what a training starts from.

    A run that already has a checkpoint resumes from it. Its `init_checkpoint` is then not read again and may
    have been deleted.

    Args:
      start: the start that was asked for.
      run_dir: the folder of the run.
      encoder: the config's encoder, or None to take the checkpoint's.
      task: the `Task`.
      begins_anew: function from a variable's name and the number of layers to whether it keeps its random
        numbers.

    Raises:
      ValueError: when the checkpoint cannot be read, its encoder differs from the config's, or
        `do_lower_case` contradicts a run that is there already.
    """
    from kbert.checkpoints import model_loading
    from kbert.checkpoints.conversion.resizing import with_layers
    from kbert.checkpoints.formats import read_checkpoint

    run = started_run(run_dir)
    if run:
        run.require_casing(start.do_lower_case)
        return StartingPoint(run.vocabulary(), encoder or run.config.encoder, None, run.task().pooling)
    if not start.init_checkpoint:
        return StartingPoint(start.vocabulary, encoder, None)
    pretrained = read_checkpoint(start.init_checkpoint, start.do_lower_case, start.allow_unmatched)
    if start.layers:
        pretrained = with_layers(pretrained, start.layers)
    encoder = model_loading.agreed_encoder(encoder, pretrained)

    def initialize(model):
        anew = begins_anew and functools.partial(begins_anew, num_hidden_layers=encoder.num_hidden_layers)
        model_loading.initialize(model, pretrained, getattr(task, "labels", ()), anew)

    weights = None if start.from_scratch else initialize
    return StartingPoint(pretrained.vocabulary, encoder, weights, pretrained.pooling)


def started_run(run_dir):
    """The `RunDirectory` in a folder, if it has a checkpoint to resume from; else None.

    Raises:
      ValueError: when a run there is broken.
    """
    from kbert.runs.checkpoint import list_checkpoints
    from kbert.runs.run_directory import RunDirectory, holds_run

    if not holds_run(run_dir):
        return None
    run = RunDirectory(run_dir)
    return run if list_checkpoints(run.checkpoints) else None
