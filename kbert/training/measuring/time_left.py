"""Estimates how long a run still takes; None before there is a basis."""

_FIRST_SECONDS = 5.0  # of timed steps before the first estimate


class TimeLeft:
    """The seconds that steps, evaluations and checkpoints still take.

    A step is taken to last as long as those of the newest intervals, each of which counts half as much as the
    next one. The first call is left out: it traces and compiles the step, which would make the first
    estimates far too long. Slow calls after it, which meet a batch of a new shape, count: more of them come.

    An evaluation or checkpoint is taken to last as long as the newest one. Before the first one of a process
    it is not known. After it, later ones are taken to last half as long: the first one compiles too, and how
    much of it was compiling is not known. Half is wrong by at most a factor of two where a later one takes
    between a quarter and all of that time.

    Args:
      num_steps: steps of the whole run.
      step: the step at which this process or phase begins.
    """

    def __init__(self, num_steps: int, step: int):
        self._num_steps, self._step = num_steps, step
        self._is_first = True
        self._steps, self._seconds = 0, 0.0  # of the calls of this interval
        self._seconds_per_step: float | None = None
        self._is_told = False
        self._pauses: dict[str, tuple[float, float]] = {}  # what -> (steps between two, seconds of one)

    def steps_done(self, step: int, seconds: float):
        """Notes a call that ended at `step`, `seconds` after the one before or the pause in between."""
        steps, self._step = step - self._step, step
        if self._is_first and steps:
            self._is_first = False
            return
        self._steps += steps
        self._seconds += seconds

    def first_estimate(self) -> tuple[float, float] | None:
        """(seconds that the other steps take, steps a second), once, before the first interval ends."""
        if self._is_told or self._seconds < _FIRST_SECONDS:
            return None
        self._is_told = True
        return (self._num_steps - self._step) * self._seconds / self._steps, self._steps / self._seconds

    def interval_done(self):
        """Ends an interval: the next estimate counts its calls."""
        self._is_told = True
        if not self._steps:
            return
        per_step, before = self._seconds / self._steps, self._seconds_per_step
        self._seconds_per_step = per_step if before is None else 0.5 * (before + per_step)
        self._steps, self._seconds = 0, 0.0

    def paused(self, what: str, every: float, seconds: float):
        """Notes a pause, such as an evaluation, that comes every so many steps and at the end of the run."""
        self._pauses[what] = (every, seconds if what in self._pauses else 0.5 * seconds)

    def seconds(self, step: int) -> float | None:
        """The estimate at `step`, before the pauses of this very step; None without a basis."""
        if self._seconds_per_step is None:
            return None
        left = (self._num_steps - step) * self._seconds_per_step
        for every, seconds in self._pauses.values():
            left += seconds * (-(-self._num_steps // every) - (step - 1) // every)
        return left
