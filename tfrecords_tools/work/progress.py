"""How far a piece of work is, how fast it goes, how long it will take."""

import time
from collections.abc import Callable

from absl import logging

from kbert.log_lines import PROGRESS

SECONDS_BETWEEN_LINES = 5.0


class Progress:
    """Logs how far a piece of work is, how fast it goes and how long it will take, every few seconds.

    Args:
      what: the past tense of the work, for example "Wrote".
      unit: what is counted: "examples", or "bytes", which are shown in MB.
      total: how many there will be, or None.
      already_done: how many of them an earlier run has done; they do not count for the speed.
      clock: a function that returns seconds.
    """

    def __init__(
        self,
        what: str,
        unit: str,
        total: int | None,
        *,
        already_done: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._what = what
        self._total = total
        self._clock = clock
        self._scale, self._unit, self._digits = (1e6, "MB", 1) if unit == "bytes" else (1, unit, 0)
        self._start = self._last = clock()
        self._already_done = self._done = already_done

    def report(self, done: int):
        """Notes how many are done, and logs a line when it is time for one."""
        self._done = done
        now = self._clock()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        speed = (done - self._already_done) / (now - self._start)
        if self._total:
            percent = min(100, 100 * done // self._total)
            seconds_left = max(0, self._total - done) / max(speed, 1e-9)
            ahead = f" of {self._amount(self._total)} ({percent} %), about {seconds_left:.0f} s left"
        else:
            ahead = ""
        speed = self._amount(speed)
        logging.info("%s %s%s, %s/s.", self._what, self._amount(done), ahead, speed, extra=PROGRESS)

    def report_end(self):
        """Logs the last line."""
        seconds = max(self._clock() - self._start, 1e-9)
        done = self._done - self._already_done
        logging.info(
            "%s %s in %.1f s, %s/s.", self._what, self._amount(done), seconds, self._amount(done / seconds)
        )

    def _amount(self, number):
        return f"{number / self._scale:,.{self._digits}f} {self._unit}"
