"""Learning rates by step, and by time."""

import math

import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.training.optimizers.time_budget import TimeBudget


class Schedule:
    """A learning rate by step: linear warm-up from 0, then a decay.

    During warm-up the rate is `learning_rate * step / num_warmup_steps`.

    Args:
      learning_rate: the highest rate.
      num_train_steps: the step at which the decay ends.
      num_warmup_steps: may be 0.
      end_learning_rate: the rate at `num_train_steps` and after it.

    Call arguments:
      step: int scalar tensor, steps taken so far.

    Returns:
      float32 scalar tensor.
    """

    def __init__(
        self,
        learning_rate: float,
        num_train_steps: int,
        num_warmup_steps: int,
        end_learning_rate: float = 0.0,
    ):
        self.learning_rate = learning_rate
        self.num_train_steps = num_train_steps
        self.num_warmup_steps = num_warmup_steps
        self.end_learning_rate = end_learning_rate

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        reach = self.learning_rate - self.end_learning_rate
        decayed = self.end_learning_rate + reach * self.decayed_share(step)
        if not self.num_warmup_steps:
            return decayed
        warming = self.learning_rate * step / self.num_warmup_steps
        return tf.where(step < self.num_warmup_steps, warming, decayed)

    def decayed_share(self, step):
        """How much of the decay is still to come, 1 to 0; `step`: float32 scalar tensor, after warm-up."""
        raise NotImplementedError

    # The training loop calls these methods on every schedule; only `TimeBudget` does something in them.

    def start(self):
        """Called when training begins, or continues after `restore`."""

    def tick(self):
        """Called after each call of the training step."""

    def is_over(self) -> bool:
        """Whether training must end now, before its last step."""
        return False

    def seconds_left(self) -> float | None:
        """The seconds until training must end; None if only its steps end it."""
        return None

    def state(self) -> dict:
        """The state for a checkpoint, ready for JSON."""
        return {}

    def restore(self, state: dict):
        """Restores what `state` returned."""


class LinearWarmupDecay(Schedule):
    """Linear decay.

    The decay counts from step 0, so at the end of warm-up the rate falls at once by
    `(learning_rate - end_learning_rate) * num_warmup_steps / num_train_steps`. Source:
    google-research/bert, optimization.py, `create_optimizer`.
    """

    def decayed_share(self, step):
        return tf.maximum(1.0 - step / self.num_train_steps, 0.0)


class PolynomialDecay(LinearWarmupDecay):
    """The linear decay raised to a power; it also counts from step 0.

    With power 0.5 the rate stays high for long: NVIDIA's choice for LAMB (DeepLearningExamples, TensorFlow2
    BERT, optimization.py). With power 2 it falls early. Source:
    tf.keras.optimizers.schedules.PolynomialDecay.

    Args:
      power: the exponent; 1.0 is the linear decay.
    """

    def __init__(self, *args, power: float, **kwargs):
        super().__init__(*args, **kwargs)
        self.power = power

    def decayed_share(self, step):
        return tf.pow(super().decayed_share(step), self.power)


class LinearDecayAfterWarmup(Schedule):
    """Linear decay that counts from the end of warm-up, so that the rate never jumps.

    The same training by `LinearWarmupDecay` has a rate that is lower by the share of the warm-up. Source:
    transformers, optimization.py, `get_linear_schedule_with_warmup`.
    """

    def decayed_share(self, step):
        num_decay_steps = max(self.num_train_steps - self.num_warmup_steps, 1)
        return tf.maximum((self.num_train_steps - step) / num_decay_steps, 0.0)


class CosineDecay(Schedule):
    """Half a cosine wave from the end of warm-up to the last step (arXiv 1608.03983, one cycle)."""

    def decayed_share(self, step):
        num_decay_steps = max(self.num_train_steps - self.num_warmup_steps, 1)
        progress = tf.clip_by_value((step - self.num_warmup_steps) / num_decay_steps, 0.0, 1.0)
        return 0.5 * (1.0 + tf.cos(math.pi * progress))


class ConstantRate(Schedule):
    """No decay."""

    def decayed_share(self, step):
        return tf.ones_like(step)


def make_schedule(
    config: OptimizerConfig, num_train_steps: int, num_warmup_steps: int
) -> Schedule | TimeBudget:
    """The schedule that `config.decay` names. Call it inside the strategy's scope.

    Args:
      config: an `OptimizerConfig`.
      num_train_steps: steps of the training, or of one phase of it.
      num_warmup_steps: how many of them are warm-up. A time budget has its own warm-up and uses neither of
        the two numbers.
    """
    if config.decay == "budget":
        return TimeBudget(
            config.learning_rate,
            60.0 * config.train_minutes,  # type: ignore[operator]  # the config checks that it is set
            config.budget_warmup_proportion,
            config.end_learning_rate,
        )
    steps = (config.learning_rate, num_train_steps, num_warmup_steps)
    if config.decay == "linear":
        return LinearWarmupDecay(*steps, config.end_learning_rate)
    if config.decay == "polynomial":
        return PolynomialDecay(*steps, config.end_learning_rate, power=config.decay_power)
    if config.decay == "linear_after_warmup":
        return LinearDecayAfterWarmup(*steps, config.end_learning_rate)
    if config.decay == "cosine":
        return CosineDecay(*steps, config.end_learning_rate)
    return ConstantRate(*steps)
