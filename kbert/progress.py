"""How far a piece of work is, how fast it goes, how long it will take."""

import time
from collections.abc import Callable

from absl import logging

from kbert.log_lines import PROGRESS
from kbert.readable_numbers import readable_seconds

# Less than the silence after which kbert/activity.py says what goes on: these lines say more.
SECONDS_BETWEEN_LINES = 3.0
_BASIS_SECONDS = 5.0  # of work, before a speed is told


class Progress:
    """Logs how far a piece of work is, how fast it goes and how long it will take, every few seconds.

    "Wrote 1,000 of 4,000 examples (25 %), 100 examples/s, 30s left." Work of less than SECONDS_BETWEEN_LINES
    is not told.

    The speed is that since the first turn, a report of each worker: before it lie the start of the workers
    and the loading of TensorFlow. It is measured after whole turns, because workers on pieces of one size
    report at nearly the same moment. Until it is known, only the share that is done is told.

    Args:
      what: the past tense of the work, for example "Wrote".
      unit: what is counted: "examples", or "bytes", which are shown in MB.
      total: how many there will be, or None.
      already_done: how many of them an earlier run has done; they do not count for the speed.
      num_workers: how many processes do the work.
      clock: a function that returns seconds.
    """

    def __init__(
        self,
        what: str,
        unit: str,
        total: int | None,
        *,
        already_done: int = 0,
        num_workers: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._what = what
        self._total = total
        self._clock = clock
        self._scale, self._unit, self._digits = (1e6, "MB", 1) if unit == "bytes" else (1, unit, 0)
        self._start = self._last = clock()
        self._already_done = self._done = already_done
        self._num_workers, self._num_reports = num_workers, 0
        self._first_turn: tuple[float, int] | None = None  # (when it ended, how many were done)
        self._speed = 0.0  # 0 until it is known

    def report(self, done: int):
        """Notes how many are done, and logs a line when it is time for one; none when all are done."""
        self._done = done
        now = self._clock()
        self._num_reports += 1
        if self._num_reports % self._num_workers == 0:
            self._measure(now)
        if now - self._last < SECONDS_BETWEEN_LINES or done == self._total:
            return
        self._last = now
        amount = self._amount(done)
        if self._total:
            percent = min(100, 100 * done // self._total)
            amount = f"{self._number(done)} of {self._amount(self._total)} ({percent} %)"
        logging.info("%s %s%s.", self._what, amount, self._ahead(), extra=PROGRESS)

    def _measure(self, now):
        """Measures the speed at the end of a turn."""
        if self._first_turn is None:
            self._first_turn = (now, self._done)
        seconds, done = now - self._first_turn[0], self._done - self._first_turn[1]
        if seconds >= _BASIS_SECONDS:
            self._speed = done / seconds

    def _ahead(self):
        """Speed and time left; "" before they are known."""
        if not self._speed:
            return ""
        left = max(0, (self._total or 0) - self._done) / self._speed
        return f", {self._rate(self._speed)}" + (f", {readable_seconds(left)} left" if self._total else "")

    def report_end(self, where: str = ""):
        """Logs the last line.

        Args:
          where: where the results are, if that is to be said.
        """
        seconds = max(self._clock() - self._start, 1e-9)
        done = self._done - self._already_done
        end = f" -> {where}" if where else "."
        rate = self._rate(done / seconds)
        logging.info("%s %s in %.1f s, %s%s", self._what, self._amount(done), seconds, rate, end)

    def _amount(self, number):
        return f"{self._number(number)} {self._unit}"

    def _number(self, number):
        return f"{number / self._scale:,.{self._digits}f}"

    def _rate(self, number):
        digits = 1 if number / self._scale < 10 else self._digits
        return f"{number / self._scale:,.{digits}f} {self._unit}/s"
