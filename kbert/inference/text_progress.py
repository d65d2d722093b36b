"""How far a command through many texts is."""

import time

from absl import logging

from kbert.log_lines import PROGRESS

_SECONDS_BETWEEN_LINES = 5.0


class TextProgress:
    """Logs a line every few seconds: how many texts are done, how many a second, and the time left.

    Args:
      total: how many texts there are; None when that is not known.
    """

    def __init__(self, total: int | None = None):
        self._total = total
        self._done = 0
        self._start = self._last = time.monotonic()

    def advance(self, number: int = 1):
        """Counts texts that are done."""
        self._done += number
        now = time.monotonic()
        if now - self._last >= _SECONDS_BETWEEN_LINES:
            self._last = now
            self._log(now - self._start)

    def finish(self, where: str):
        """Logs how many texts there were, and how long they took.

        Args:
          where: where the results are.
        """
        seconds = time.monotonic() - self._start
        logging.info("%s texts in %.1f s -> %s", f"{self._done:,}", seconds, where)

    def _log(self, seconds):
        done, rate = f"{self._done:,}", self._done / seconds
        if not self._total:
            logging.info("%s texts, %.1f a second", done, rate, extra=PROGRESS)
            return
        percent, left = 100 * self._done // self._total, (self._total - self._done) / rate
        logging.info(
            "%s texts, %.1f a second, %d %%, about %.0f s left", done, rate, percent, left, extra=PROGRESS
        )
