"""The phases of a run, one after the other under one count of steps."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

import keras
import tensorflow as tf

from kbert.config import TrainingConfig
from kbert.input_pipelines.batches import Rows, evaluation_batches, training_batches

_FINEST = 10**6  # parts of a step that an interval between evaluations may have


class EvaluationData(NamedTuple):
    """What a phase is evaluated on.

    Args:
      rows: the `Rows`.
      examples: what the rows were made of, for `Task.score`; None where that is not known.
    """

    rows: Rows
    examples: list | None = None


@dataclasses.dataclass(frozen=True)
class Phase:
    """A range of steps on one set of data, with its own warm-up and decay.

    Args:
      config: the settings of this phase. Encoder, optimizer (except its learning rate), precision and seed
        are the same in the whole run.
      num_train_steps: the number of optimizer steps of this phase.
      num_warmup_steps: how many of them are warm-up.
      rows: the `Rows` to train on.
      evaluations: what stands before the names of its metrics -> `EvaluationData`. "" comes first and chooses
        the best checkpoint; the others come with every evaluation, and have no say in it. Empty for none.
      fresh_optimizer: begin with moments of 0, and count the updates from 0 again.
      number, first_step: how many phases, and steps of the run, come before this one; `Plan` sets them.
    """

    config: TrainingConfig
    num_train_steps: int
    num_warmup_steps: int
    rows: Rows
    evaluations: Mapping[str, EvaluationData] = dataclasses.field(default_factory=dict)
    fresh_optimizer: bool = False
    number: int = 0
    first_step: int = 0

    @property
    def last_step(self) -> int:
        """The step of the run at which this phase ends."""
        return self.first_step + self.num_train_steps

    def require_unchanged_rows(self):
        """Raises ValueError where the rows of this phase were replaced while they were read."""
        for rows in (self.rows, *(data.rows for data in self.evaluations.values())):
            rows.require_unchanged()

    def train_batches(self, consumed: int, share) -> tf.data.Dataset:
        """The endless batches of a pipeline after `consumed` examples of this phase.

        Order and dynamic masks differ from phase to phase, also on the same records.
        """
        config = self.config
        return training_batches(
            self.rows,
            config.train_batch_size,
            config.seed + self.number,
            consumed,
            config.pad_to_longest,
            share=share,
        )

    def evaluation_batches(self, rows: Rows, with_fill: bool, share) -> tf.data.Dataset:
        """The batches of a pipeline in an evaluation; as many for each pipeline."""
        config = self.config
        return evaluation_batches(
            rows, config.eval_batch_size, config.pad_to_longest, with_fill, config.max_eval_steps, share=share
        )


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the trainer needs in addition to the config.

    Args:
      phases: one or more `Phase`, in order.
      eval_every_steps: evaluate at multiples of this, rounded up to whole steps, and at the end of each
        phase; not at a multiple that is less than half an interval before the end.
      early_stopping_patience: training stops after this many evaluations in a row without an improvement;
        None: it never stops early.
      initialize: called with the new model when training starts from the beginning (not when it resumes),
        for example to load an `init_checkpoint`.
    """

    phases: tuple[Phase, ...]
    eval_every_steps: float
    early_stopping_patience: int | None = None
    initialize: Callable[[keras.Model], object] | None = None

    def __post_init__(self):
        phases, first_step = [], 0
        for number, phase in enumerate(self.phases):
            phases.append(dataclasses.replace(phase, number=number, first_step=first_step))
            first_step = phases[-1].last_step
        object.__setattr__(self, "phases", tuple(phases))

    @property
    def num_train_steps(self) -> int:
        """Optimizer steps of the whole run."""
        return self.phases[-1].last_step

    def next_evaluation(self, step: int) -> int:
        """The first step after `step` that is a multiple of `eval_every_steps`, rounded up."""
        # As a fraction: 30 * 0.1 is a little more than 3.
        interval = max(Fraction(self.eval_every_steps).limit_denominator(_FINEST), Fraction(1, _FINEST))
        return math.ceil((step // interval + 1) * interval)

    def phases_from(self, step: int) -> list[Phase]:
        """Every phase that is not yet complete after `step`.

        A phase that ends exactly at `step` is included: its last evaluation may still be missing.
        """
        return [phase for phase in self.phases if step <= phase.last_step]

    def first_update(self, number: int) -> int:
        """The step from which the optimizer counts its updates in a phase: its moments were 0 there."""
        fresh = [phase.first_step for phase in self.phases[1 : number + 1] if phase.fresh_optimizer]
        return fresh[-1] if fresh else 0
