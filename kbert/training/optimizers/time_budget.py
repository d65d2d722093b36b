"""A learning rate that depends on the time used; training ends when the time budget is used up."""

import time

import tensorflow as tf

from kbert.training.devices.distribution import sum_over_replicas


class TimeBudget:
    """Linear warm-up and linear decay over wall-clock time; training ends when the time is used up.

    Let p be the used share of the budget and w the share for warm-up. The rate is `learning_rate * p / w` up
    to p = w, then it falls linearly to `end_learning_rate` at p = 1. Source: arXiv 2104.07705 ("How to Train
    BERT with an Academic Budget"); its code, IntelLabs/academic-budget-bert, pretraining/schedules.py,
    `TimeScheduler` with `LinearCurve`, and its 6 % of warm-up. The clock is read after each call of the
    training step, so the rate does not change within a call. With several processes, the mean of their clocks
    counts. Create it inside the strategy's scope.

    Time counts from `start` and includes everything that training does: compiling, evaluating, saving. A
    resumed training continues from the time that the checkpoint records.

    Args:
      learning_rate: the highest rate.
      seconds: the budget.
      warmup_proportion: the share of the budget that is warm-up.
      end_learning_rate: the rate at the end.
      clock: function that returns the time in seconds.

    Call arguments:
      step: int scalar tensor; not used.

    Returns:
      float32 scalar tensor.
    """

    def __init__(
        self,
        learning_rate: float,
        seconds: float,
        warmup_proportion: float,
        end_learning_rate: float = 0.0,
        clock=time.monotonic,
    ):
        self.learning_rate = learning_rate
        self.seconds = seconds
        self.warmup_proportion = warmup_proportion
        self.end_learning_rate = end_learning_rate
        self._clock = clock
        self._before = 0.0  # seconds used up to the last start
        self._started = None
        self._used = 0.0
        self._strategy = tf.distribute.get_strategy()
        self._share_used = tf.Variable(0.0, trainable=False, name="share_of_time_used")

    def __call__(self, step):
        share = self._share_used.read_value()
        decayed = self.end_learning_rate + (self.learning_rate - self.end_learning_rate) * tf.maximum(
            1.0 - share, 0.0
        ) / (1.0 - self.warmup_proportion)
        if not self.warmup_proportion:
            return decayed
        warming = self.learning_rate * share / self.warmup_proportion
        return tf.where(share < self.warmup_proportion, warming, decayed)

    def start(self):
        """Starts the clock."""
        self._before, self._started = self._used, self._clock()
        self.tick()

    def tick(self):
        """Reads the clock."""
        used = self._before + self._clock() - self._started
        self._used = self._agreed(used)
        self._share_used.assign(self._used / self.seconds)

    def is_over(self) -> bool:
        """Whether the budget is used up."""
        return self._used >= self.seconds

    def seconds_left(self) -> float:
        """The rest of the budget, as of the last `tick`."""
        return max(self.seconds - self._used, 0.0)

    def state(self) -> dict:
        """The seconds used, as of the last `tick`."""
        return {"seconds_used": self._used}

    def restore(self, state: dict):
        """Restores a partly used budget; `start` starts the clock again."""
        self._used = float(state["seconds_used"])
        self._share_used.assign(self._used / self.seconds)

    def _agreed(self, seconds):
        """The mean of the seconds of all processes: the learning rate and the end must be the same in all."""
        if not isinstance(self._strategy, tf.distribute.MultiWorkerMirroredStrategy):
            return seconds
        return sum_over_replicas(self._strategy, seconds) / self._strategy.num_replicas_in_sync
