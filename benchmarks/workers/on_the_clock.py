"""A contestant whose own steps last a given time, whatever others do meanwhile; and its losses by time."""

import statistics

import numpy as np


class OnTheClock:
    """Wraps a contestant of an alternating benchmark; its turns last about equally long, however fast it is.

    Args:
      contestant: a `Contestant`, or what has its name, record, `is_done` and `take_turn`.
      seconds: it is done when its steps have taken so long. The first step, which traces or compiles, counts.
    """

    def __init__(self, contestant, seconds: float):
        self._contestant, self._seconds = contestant, seconds
        self.record = contestant.record

    @property
    def name(self) -> str:
        """The contestant's, and how much of its time it has used."""
        return f"{self._contestant.name}, minute {self.used / 60:.1f} of {self._seconds / 60:g}"

    @property
    def is_done(self) -> bool:
        return self._contestant.is_done or self.used >= self._seconds

    @property
    def used(self) -> float:
        """Seconds of its steps so far."""
        return sum(step["seconds"] for step in self.record.steps)

    def take_turn(self, seconds: float):
        """Takes about as many steps as fit into `seconds`: at first one, which may compile, then a second."""
        taken = [step["seconds"] for step in self.record.steps]
        left = min(seconds, self._seconds - self.used)
        fitting = 1 if len(taken) < 2 else max(1, round(left / statistics.median(taken[-20:])))
        self._contestant.take_turn(fitting)


class LossByTime:
    """The losses of a contestant by the seconds of its own steps.

    Args:
      steps: its record's steps, each with `seconds` and `masked_lm_loss`.
      window: a loss is the mean of so many steps; of all so far, where there are fewer.
    """

    def __init__(self, steps: list[dict], window: int):
        losses = np.array([step["masked_lm_loss"] for step in steps])
        sums = np.concatenate([[0.0], np.cumsum(losses)])
        last = np.arange(1, len(losses) + 1)
        first = np.maximum(last - window, 0)
        self.seconds = np.cumsum([step["seconds"] for step in steps])
        self.losses = (sums[last] - sums[first]) / (last - first)
        self._window = window

    def at(self, seconds: float) -> float | None:
        """The loss of the last step that had ended by then; None where none had."""
        ended = int(np.searchsorted(self.seconds, seconds, side="right"))
        return float(self.losses[ended - 1]) if ended else None

    def seconds_to(self, loss: float) -> float | None:
        """When a mean over a whole window first was as low; None where none was."""
        places = np.flatnonzero(self.losses[self._window - 1 :] <= loss)
        return float(self.seconds[places[0] + self._window - 1]) if len(places) else None
