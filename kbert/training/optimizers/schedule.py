"""Learning rates by step, and by time."""

import math

import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.training.optimizers.time_budget import TimeBudget


class Schedule:
    """The learning rate by step: linear warm-up from 0 to `config.learning_rate`, then a decay.

    The decay goes down to `config.end_learning_rate`. `config.decay` names its form:

      linear                counts from step 0, so at the end of warm-up the learning rate falls at once by
                            `(learning_rate - end_learning_rate) * num_warmup_steps / num_train_steps`
                            (google-research/bert, optimization.py, `create_optimizer`);
      polynomial            the linear decay to the power `decay_power`, also from step 0. With .5 the rate
                            stays high for long: NVIDIA's choice for LAMB (DeepLearningExamples, TensorFlow2
                            BERT, optimization.py). With 2 it falls early
                            (tf.keras.optimizers.schedules.PolynomialDecay);
      linear_after_warmup   counts from the end of warm-up, so that the learning rate never jumps
                            (transformers, optimization.py, `get_linear_schedule_with_warmup`);
      cosine                half a cosine wave from the end of warm-up (arXiv 1608.03983, one cycle);
      constant              no decay.

    Args:
      config: an `OptimizerConfig`.
      num_train_steps: the step at which the decay ends.
      num_warmup_steps: may be 0.

    Call arguments:
      step: int scalar tensor, steps taken so far in the phase.

    Returns:
      float32 scalar tensor.
    """

    def __init__(self, config: OptimizerConfig, num_train_steps: int, num_warmup_steps: int):
        self._config = config
        self._num_train_steps = num_train_steps
        self._num_warmup_steps = num_warmup_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        peak, end = self._config.learning_rate, self._config.end_learning_rate
        decayed = end + (peak - end) * self._remaining_decay(step)
        if not self._num_warmup_steps:
            return decayed
        warming = peak * step / self._num_warmup_steps
        return tf.where(step < self._num_warmup_steps, warming, decayed)

    def _remaining_decay(self, step):
        """How much of the decay is still to come, 1 to 0; `step`: float32 scalar tensor, as in a call."""
        num_decay_steps = max(self._num_train_steps - self._num_warmup_steps, 1)
        match self._config.decay:
            case "linear":
                return tf.maximum(1.0 - step / self._num_train_steps, 0.0)
            case "polynomial":
                linear = tf.maximum(1.0 - step / self._num_train_steps, 0.0)
                return tf.pow(linear, self._config.decay_power)
            case "linear_after_warmup":
                return tf.maximum((self._num_train_steps - step) / num_decay_steps, 0.0)
            case "cosine":
                progress = tf.clip_by_value((step - self._num_warmup_steps) / num_decay_steps, 0.0, 1.0)
                return 0.5 * (1.0 + tf.cos(math.pi * progress))
        return tf.ones_like(step)

    def progress(self, step):
        """The share of the steps that are done: float32 scalar tensor."""
        return tf.cast(step, tf.float32) / self._num_train_steps

    # The training loop calls these methods on every schedule; only `TimeBudget` does something in them.

    def start(self, state: dict):
        """Called when training begins; `state`: what `state` returned where it continues, else {}."""

    def tick(self, num_steps: int = 0):
        """Called after `num_steps` of training in one call, each checkpoint and each evaluation."""

    def limit(self, num_steps: int) -> int:
        """The steps that may be taken with one learning rate, of `num_steps`."""
        return num_steps

    def seconds_left(self) -> float | None:
        """The seconds until training must end; None if only its steps end it."""
        return None

    def state(self) -> dict:
        """The state for a checkpoint, ready for JSON."""
        return {}


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
        return TimeBudget(config)
    return Schedule(config, num_train_steps, num_warmup_steps)
