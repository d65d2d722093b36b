"""How far a piece of work is, how fast it goes, how long it will take."""

import time
from collections.abc import Callable

from absl import logging

from kbert.log_lines import PROGRESS

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Logs how far a piece of work is, how fast it goes and how long it will take, every few seconds.

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
        """Notes how many are done, and logs a line when it is time for one."""
        self._done = done
        now = self._clock()
        self._num_reports += 1
        if self._num_reports % self._num_workers == 0:
            self._measure(now)
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        of_all = ""
        if self._total:
            of_all = f" of {self._amount(self._total)} ({min(100, 100 * done // self._total)} %)"
        logging.info("%s %s%s%s.", self._what, self._amount(done), of_all, self._ahead(), extra=PROGRESS)

    def _measure(self, now):
        """Measures the speed at the end of a turn."""
        if self._first_turn is None:
            self._first_turn = (now, self._done)
        seconds, done = now - self._first_turn[0], self._done - self._first_turn[1]
        if seconds >= SECONDS_BETWEEN_LINES:
            self._speed = done / seconds

    def _ahead(self):
        """Time left and speed; "" before they are known."""
        if not self._speed:
            return ""
        speed = f", {self._amount(self._speed)}/s"
        if not self._total:
            return speed
        return f", about {max(0, self._total - self._done) / self._speed:.0f} s left{speed}"

    def report_end(self):
        """Logs the last line."""
        seconds = max(self._clock() - self._start, 1e-9)
        done = self._done - self._already_done
        logging.info(
            "%s %s in %.1f s, %s/s.", self._what, self._amount(done), seconds, self._amount(done / seconds)
        )

    def _amount(self, number):
        return f"{number / self._scale:,.{self._digits}f} {self._unit}"
