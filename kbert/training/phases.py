"""The phases of a run, one after the other under one count of steps."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import NamedTuple

import keras
import tensorflow as tf

from kbert.config import TrainingConfig


class EvaluationData(NamedTuple):
    """Further data that a phase is evaluated on.

    Args:
      make_batches: as `make_eval_batches` of a `Phase`.
      examples: as its `eval_examples`.
    """

    make_batches: Callable[[object], tf.data.Dataset]
    examples: Callable[[], tuple] | None


@dataclasses.dataclass(frozen=True)
class Phase:
    """A range of steps on one set of data, with its own warm-up and decay.

    Args:
      config: the settings of this phase. Encoder, optimizer (except its learning rate), precision and seed
        are the same in the whole run.
      num_train_steps: the number of optimizer steps of this phase.
      num_warmup_steps: how many of them are warm-up.
      make_train_batches: function of the number of examples consumed in this phase and of an input pipeline
        (a `Share`, or an object with the same fields). It returns an endless tf.data.Dataset of that
        pipeline's share of the global batches.
      make_eval_batches: function from an input pipeline to a finite dataset of that pipeline's share, with
        the same number of batches for each pipeline; or None.
      eval_examples: function without arguments that returns the examples of the evaluation and the index of
        the example that each row belongs to, for `Task.score`; or None.
      other_evaluations: what stands before the names of its metrics -> further `EvaluationData`. They come
        with every evaluation, and have no say in which checkpoint is the best.
      fresh_optimizer: begin with moments of 0, and count the updates from 0 again.
      first_step: the number of steps of the run before this phase; `Plan` sets it.
    """

    config: TrainingConfig
    num_train_steps: int
    num_warmup_steps: int
    make_train_batches: Callable[[int, object], tf.data.Dataset]
    make_eval_batches: Callable[[object], tf.data.Dataset] | None
    eval_examples: Callable[[], tuple] | None = None
    other_evaluations: Mapping[str, EvaluationData] = dataclasses.field(default_factory=dict)
    fresh_optimizer: bool = False
    first_step: int = 0

    @property
    def last_step(self) -> int:
        """The step of the run at which this phase ends."""
        return self.first_step + self.num_train_steps


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the trainer needs in addition to the config.

    Args:
      phases: one or more `Phase`, in order.
      eval_every_steps: evaluate at multiples of this and at the end of each phase; not at a multiple that
        is less than half an interval before the end.
      early_stopping_patience: training stops after this many evaluations in a row without an improvement;
        None: it never stops early.
      initialize: called with the new model when training starts from the beginning (not when it resumes),
        for example to load an `init_checkpoint`.
    """

    phases: tuple[Phase, ...]
    eval_every_steps: int
    early_stopping_patience: int | None = None
    initialize: Callable[[keras.Model], object] | None = None

    def __post_init__(self):
        phases, first_step = [], 0
        for phase in self.phases:
            phases.append(dataclasses.replace(phase, first_step=first_step))
            first_step = phases[-1].last_step
        object.__setattr__(self, "phases", tuple(phases))

    @property
    def num_train_steps(self) -> int:
        """Optimizer steps of the whole run."""
        return self.phases[-1].last_step

    def phases_from(self, step: int) -> list[tuple[int, Phase]]:
        """(number, phase) of every phase that is not yet complete after `step`.

        A phase that ends exactly at `step` is included: its last evaluation may still be missing.
        """
        return [(number, phase) for number, phase in enumerate(self.phases) if step <= phase.last_step]

    def first_update(self, number: int) -> int:
        """The step from which the optimizer counts its updates in a phase: its moments were 0 there."""
        fresh = [phase.first_step for phase in self.phases[1 : number + 1] if phase.fresh_optimizer]
        return fresh[-1] if fresh else 0
