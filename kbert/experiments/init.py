"""What a new run starts from, as named and as read: a checkpoint, or a vocabulary and random weights."""

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kbert.config import DistillationConfig, EncoderConfig
from kbert.config.checks import require
from kbert.config.pooling_config import PoolingConfig
from kbert.tokenization.base_vocabulary import BaseVocabulary


@dataclass(frozen=True)
class Init:
    """What a new run starts from, as the user names it.

    Args:
      checkpoint: see `kbert.checkpoints.formats.read_checkpoint`; None for random weights.
      do_lower_case, allow_unmatched: arguments of `read_checkpoint`.
      from_scratch: use vocabulary and encoder shape of the checkpoint, but not its weights.
      vocabulary: the vocabulary of a run without a checkpoint.
      layers: the layers of the checkpoint to take, counted from 0; empty for all.

    Raises:
      ValueError: for `from_scratch` without a checkpoint.
    """

    checkpoint: str | Path | None = None
    do_lower_case: bool | None = None
    allow_unmatched: tuple = ()
    from_scratch: bool = False
    vocabulary: BaseVocabulary | None = None
    layers: tuple[int, ...] = ()

    def __post_init__(self):
        require(
            bool(self.checkpoint) or not self.from_scratch,
            "from_scratch takes vocabulary and encoder shape of init_checkpoint, but there is none; give "
            "init_checkpoint, or leave from_scratch out: without a checkpoint all weights are random.",
        )

    @property
    def has_weights(self) -> bool:
        """Whether a checkpoint gives weights to start from."""
        return bool(self.checkpoint) and not self.from_scratch

    @property
    def details(self) -> dict:
        """What run.json records of it."""
        return {"init_checkpoint": str(self.checkpoint) if self.checkpoint else None}

    def for_student(self, distillation: DistillationConfig | None) -> "Init":
        """The same, or with `init_layers` those layers of the teacher."""
        if distillation is None or not distillation.init_layers:
            return self
        return dataclasses.replace(
            self, checkpoint=distillation.teacher, layers=distillation.init_layers, vocabulary=None
        )

    def require_checkpoint(self, run_dir):
        """Raises ValueError where the checkpoint of a run that is to begin is not there."""
        from kbert.checkpoints.formats import require_checkpoint
        from kbert.runs.run_directory import run_to_resume

        if self.checkpoint and not run_to_resume(run_dir):
            require_checkpoint(self.checkpoint)

    def require_casing(self, vocabulary: BaseVocabulary, owner):
        """Raises ValueError where `do_lower_case` contradicts the vocabulary of a run without a checkpoint.

        Args:
          vocabulary: the `Vocabulary`, with its casing.
          owner: what it belongs to, for the message: a folder of records.
        """
        if not self.checkpoint and self.do_lower_case not in (None, vocabulary.do_lower_case):
            raise ValueError(
                f"do_lower_case={self.do_lower_case}, but the vocabulary of {owner} has do_lower_case="
                f"{vocabulary.do_lower_case}; leave it out, or make the records with the other casing."
            )


class InitialModel(NamedTuple):
    """What a new run starts from, as read.

    Args:
      vocabulary: the `Vocabulary`, or None when none was given.
      encoder: the `EncoderConfig`, or None when none was given.
      set_weights: function that sets the weights of a new model, or None for random weights.
      pooling: how it makes one vector of a text, a `PoolingConfig`; None where it does not say so.
    """

    vocabulary: BaseVocabulary | None
    encoder: EncoderConfig | None
    set_weights: Callable | None
    pooling: PoolingConfig | None = None


def initial_model(
    init: Init, run_dir, encoder: EncoderConfig | None, task, is_reinitialized: Callable | None = None
) -> InitialModel:
    """Reads what a new run starts from.

    A run that already has a checkpoint resumes from it. Its `init` is then not read again and may have been
    deleted.

    Args:
      init: what the run starts from.
      run_dir: the folder of the run.
      encoder: the config's encoder, or None to take the checkpoint's.
      task: the `Task`.
      is_reinitialized: function from a variable's name and the number of layers to whether it keeps its
        random numbers.

    Raises:
      ValueError: when the checkpoint cannot be read, its encoder differs from the config's, or
        `do_lower_case` contradicts a run that is there already.
    """
    from kbert.checkpoints import model_loading
    from kbert.checkpoints.conversion.resizing import with_layers
    from kbert.checkpoints.formats import read_checkpoint
    from kbert.runs.run_directory import run_to_resume

    if resume := run_to_resume(run_dir):
        resume.require_casing(init.do_lower_case)
        return InitialModel(
            resume.vocabulary(), encoder or resume.config.encoder, None, resume.task().pooling
        )
    if not init.checkpoint:
        return InitialModel(init.vocabulary, encoder, None)
    pretrained = read_checkpoint(init.checkpoint, init.do_lower_case, init.allow_unmatched)
    if init.layers:
        pretrained = with_layers(pretrained, init.layers)
    agreed = model_loading.agreed_encoder(encoder, pretrained)

    def set_weights(model):
        reinitialized = is_reinitialized and functools.partial(
            is_reinitialized, num_hidden_layers=agreed.num_hidden_layers
        )
        model_loading.initialize(model, pretrained, getattr(task, "labels", ()), reinitialized)

    return InitialModel(
        pretrained.vocabulary, agreed, None if init.from_scratch else set_weights, pretrained.pooling
    )
