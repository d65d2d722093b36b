"""All workers agree on whether to stop."""

import signal

import tensorflow as tf

from kbert.cli.signals import StopSignal
from kbert.training.devices.distribution import sum_over_replicas


class StopAgreement:
    """Asks every worker, so that a signal to one of them stops all of them at the same step.

    Args:
      stop: this process's `StopSignal`.
      strategy: a tf.distribute strategy.
    """

    def __init__(self, stop: StopSignal, strategy):
        self._stop = stop
        self._strategy = strategy
        self._alone = not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy)

    def agreed(self) -> int:
        """The number of the signal to stop for, or 0. All workers must call this after the same step."""
        if self._alone:
            return self._stop.received
        total = sum_over_replicas(self._strategy, self._stop.received)
        return self._stop.received or (int(signal.SIGTERM) if total > 0 else 0)
