"""The phases of a training, one after the other under one count of steps."""

import dataclasses
from collections.abc import Callable

import keras
import tensorflow as tf

from kbert.config import TrainingConfig


@dataclasses.dataclass(frozen=True)
class Phase:
    """A stretch of steps on one set of data, with a warm-up and decay of its own.

    Args:
      config: the settings of this phase; encoder, optimizer (but for its learning rate), precision and seed
        are those of the whole run.
      num_train_steps: its optimizer steps.
      num_warmup_steps: how many of them warm up.
      make_train_batches: function from the number of examples consumed in this phase, and which of several
        input pipelines it is for (a `Share` or what has its fields), to an endless tf.data.Dataset of that
        pipeline's part of the global batches.
      make_eval_batches: function from an input pipeline to a finite dataset of its part, as many batches for
        each; or None.
      eval_examples: function without arguments that gives the evaluation's examples and which of them each
        row belongs to, for `Task.score`; or None.
      fresh_optimizer: begin with moments of 0 and a new count of updates.
      first_step: steps of the run before this phase; `Plan` sets it.
    """

    config: TrainingConfig
    num_train_steps: int
    num_warmup_steps: int
    make_train_batches: Callable[[int, object], tf.data.Dataset]
    make_eval_batches: Callable[[object], tf.data.Dataset] | None
    eval_examples: Callable[[], tuple] | None = None
    fresh_optimizer: bool = False
    first_step: int = 0

    @property
    def last_step(self) -> int:
        """The run's step with which it ends."""
        return self.first_step + self.num_train_steps


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the trainer needs beyond the config.

    Args:
      phases: one or more `Phase`, in order.
      eval_every_steps: evaluate at multiples of this and at the end of each phase.
      early_stopping_patience: so many evaluations in a row without a better one end the training.
      initialize: called with the fresh model before training starts anew (not on a resume), for example
        to load an `init_checkpoint`.
    """

    phases: tuple[Phase, ...]
    eval_every_steps: int
    early_stopping_patience: int | None = None
    initialize: Callable[[keras.Model], object] | None = None

    def __post_init__(self):
        placed, first_step = [], 0
        for phase in self.phases:
            placed.append(dataclasses.replace(phase, first_step=first_step))
            first_step += phase.num_train_steps
        object.__setattr__(self, "phases", tuple(placed))

    @property
    def num_train_steps(self) -> int:
        """Optimizer steps of the whole run."""
        return self.phases[-1].last_step

    def phases_from(self, step: int) -> list[tuple[int, Phase]]:
        """Number and phase of what remains after `step`; a phase just ended comes first, without steps.

        (Its last evaluation may still be missing.)
        """
        return [(n, phase) for n, phase in enumerate(self.phases) if step <= phase.last_step]

    def first_update_of(self, number: int) -> int:
        """The step from which the optimizer counts its updates in a phase: where its moments were 0."""
        fresh = [phase.first_step for phase in self.phases[1 : number + 1] if phase.fresh_optimizer]
        return fresh[-1] if fresh else 0
