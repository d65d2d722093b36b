"""Estimates how long a training still takes, and says nothing before it can know."""

import statistics

# A call this many times slower than the middle one of its interval did more than its steps: it compiled
# kernels for a new shape, which takes 2 to 3 s on two CPU cores.
_SLOW = 3.0


class TimeLeft:
    """The seconds that steps, evaluations and checkpoints still take.

    A step is taken to last as long as those of the newest intervals, each of which counts half as much as the
    next one. Two things would make the first estimates far too long and are left out: the first call, which
    traces and compiles the step, and in slow calls (see `_SLOW`) what is more than the middle call of the
    interval. The last call of an interval always counts as a whole: on a GPU it waits for the others.

    An evaluation or checkpoint is taken to last as long as the newest one; the first one of a process is not
    known before it was made.

    Args:
      num_steps: steps of the whole run.
      step: the step at which this process or phase begins.
    """

    def __init__(self, num_steps: int, step: int):
        self._num_steps, self._step = num_steps, step
        self._laps: list[tuple[int, float]] = []  # (steps, seconds) of the calls of this interval
        self._is_first = True
        self._seconds_per_step: float | None = None
        self._pauses: dict[str, tuple[int, float]] = {}  # what -> (steps between two, seconds of the newest)

    def steps_done(self, step: int, seconds: float):
        """Notes a call that ended at `step`, `seconds` after the one before or the pause in between."""
        steps, self._step = step - self._step, step
        if not steps:  # what came after the last call of the interval: reading its sums
            if self._laps:
                self._laps[-1] = (self._laps[-1][0], self._laps[-1][1] + seconds)
            return
        if not self._is_first:
            self._laps.append((steps, seconds))
        self._is_first = False

    def interval_done(self):
        """Ends an interval: the next estimate counts its calls."""
        if not self._laps:
            return
        *others, last = self._laps
        usual = statistics.median_low(seconds / steps for steps, seconds in self._laps)
        seconds = last[1]
        for steps, taken in others:
            seconds += steps * usual if taken > _SLOW * steps * usual else taken
        per_step = seconds / sum(steps for steps, _ in self._laps)
        before, self._laps = self._seconds_per_step, []
        self._seconds_per_step = per_step if before is None else 0.5 * (before + per_step)

    def paused(self, what: str, every: int, seconds: float):
        """Notes a pause, such as an evaluation, that comes every so many steps and at the end of the run."""
        self._pauses[what] = (every, seconds)

    def seconds(self, step: int) -> float | None:
        """The estimate at `step`, before the pauses of this very step; None without a basis."""
        if self._seconds_per_step is None:
            return None
        left = (self._num_steps - step) * self._seconds_per_step
        for every, seconds in self._pauses.values():
            left += seconds * (-(-self._num_steps // every) - (step - 1) // every)
        return left
