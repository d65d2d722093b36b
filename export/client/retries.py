"""Tries again where a server says that it is busy, within the time that there is."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from .failures import UNAVAILABLE, RequestFailed

_Answer = TypeVar("_Answer")
_FIRST_WAIT_SECONDS, _LONGEST_WAIT_SECONDS = 0.1, 2.0


class Retries:
    """Repeats a request while it fails with UNAVAILABLE, and with nothing else.

    Any other failure would come again, or is no failure of the server. Waits double, and are drawn at random
    between half and all of that, so that clients that were refused together do not come back together.

    Args:
        max_attempts: how often to try; 1 never tries again.
        generator, clock, sleep: arguments so that tests can set them.
    """

    def __init__(
        self,
        max_attempts: int,
        generator: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ):
        if max_attempts < 1:
            raise ValueError(f"max_attempts={max_attempts}; expected 1 or more.")
        self._max_attempts = max_attempts
        self._generator = generator or random.Random()
        self._clock = clock
        self._sleep = sleep

    def call(self, ask: Callable[[float], _Answer], seconds: float) -> _Answer:
        """Returns what `ask(seconds left)` returns.

        Args:
            ask: one attempt; raises `RequestFailed`.
            seconds: for all attempts together.

        Raises:
            RequestFailed: of the last attempt.
        """
        end, wait, attempt = self._clock() + seconds, _FIRST_WAIT_SECONDS, 1
        while True:
            try:
                return ask(end - self._clock())
            except RequestFailed as failure:
                pause = wait * self._generator.uniform(0.5, 1.0)
                late = self._clock() + pause >= end
                if failure.status != UNAVAILABLE or attempt == self._max_attempts or late:
                    raise
            self._sleep(pause)
            wait, attempt = min(2 * wait, _LONGEST_WAIT_SECONDS), attempt + 1
