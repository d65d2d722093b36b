"""A learning rate that depends on the time used; training ends when the time budget is used up."""

import time

import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.training.devices.distribution import sum_over_replicas

_SHARE_OF_A_CALL = 0.01


class TimeBudget:
    """Linear warm-up and linear decay over wall-clock time; training ends when the time is used up.

    Let p be the used share of the budget and w the share for warm-up. The learning rate is
    `config.learning_rate * p / w` up to p = w, then it falls linearly to `config.end_learning_rate` at p = 1.
    Source: arXiv 2104.07705 ("How to Train BERT with an Academic Budget"); its code,
    IntelLabs/academic-budget-bert, pretraining/schedules.py, `TimeScheduler` with `LinearCurve`, and its 6 %
    of warm-up. The clock is read after each call of the training step, each checkpoint and each evaluation,
    so the learning rate does not change within a call, which takes a hundredth of the time at most, or one
    step. With several processes, the mean of their clocks counts. Create it inside the strategy's scope.

    Time counts from `start` and includes everything that training does: compiling, evaluating, saving. A
    resumed training continues from the time that the checkpoint records.

    Args:
      config: an `OptimizerConfig` with `train_minutes` and `budget_warmup_proportion`.
      clock: function that returns the time in seconds; an argument so that tests can set it.

    Call arguments:
      step: int scalar tensor; not used.

    Returns:
      float32 scalar tensor.
    """

    def __init__(self, config: OptimizerConfig, clock=time.monotonic):
        self._config = config
        self._seconds = 60.0 * config.train_minutes  # type: ignore[operator]  # the config checks that it is set
        self._clock = clock
        self._used = self._used_at_start = self._started = 0.0
        self._most_steps = 1  # the first call traces and compiles, at the rate of its beginning
        self._strategy = tf.distribute.get_strategy()
        self._share_used = tf.Variable(0.0, trainable=False, name="share_of_time_used")

    def __call__(self, step):
        share, warmup = self._share_used.read_value(), self._config.budget_warmup_proportion
        peak, end = self._config.learning_rate, self._config.end_learning_rate
        decayed = end + (peak - end) * tf.maximum(1.0 - share, 0.0) / (1.0 - warmup)
        if not warmup:
            return decayed
        return tf.where(share < warmup, peak * share / warmup, decayed)

    def progress(self, step):
        """The share of the time that is used."""
        return self._share_used.read_value()

    def start(self, state: dict):
        """Starts the clock, with the seconds used so far if `state` has them."""
        self._used_at_start, self._started = float(state.get("seconds_used", 0.0)), self._clock()
        self.tick()

    def tick(self, num_steps: int = 0):
        """Reads the clock; `num_steps`: those since the last time."""
        before, self._used = self._used, self._agreed(self._used_at_start + self._clock() - self._started)
        self._share_used.assign(self._used / self._seconds)
        if num_steps and self._used > before:
            seconds_of_a_step = (self._used - before) / num_steps
            self._most_steps = max(1, int(_SHARE_OF_A_CALL * self._seconds / seconds_of_a_step))

    def limit(self, num_steps: int) -> int:
        """The steps that may be taken with one learning rate, of `num_steps`."""
        return min(num_steps, self._most_steps)

    def seconds_left(self) -> float:
        """The rest of the budget, as of the last `tick`."""
        return max(self._seconds - self._used, 0.0)

    def state(self) -> dict:
        """The seconds used, as of the last `tick`."""
        return {"seconds_used": self._used}

    def _agreed(self, seconds):
        """The mean of the seconds of all processes: the learning rate and the end must be the same in all."""
        if not isinstance(self._strategy, tf.distribute.MultiWorkerMirroredStrategy):
            return seconds
        return sum_over_replicas(self._strategy, seconds) / self._strategy.num_replicas_in_sync
