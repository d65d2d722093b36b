"""The moment at which nobody waits for an answer any more."""

import time

from ..gate.saved_model_session import RequestError


class Deadline:
    """Says how much time is left.

    Args:
        seconds: from now; None means for ever.
        clock: function that returns seconds; an argument so that tests can set it.
    """

    def __init__(self, seconds: float | None = None, clock=time.monotonic):
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def remaining(self) -> float | None:
        """Returns the seconds that are left; None means for ever.

        Raises:
            RequestError: `DEADLINE_EXCEEDED`.
        """
        if self._end is None:
            return None
        left = self._end - self._clock()
        if left <= 0:
            raise late()
        return left

    def latest(self, other: "Deadline") -> "Deadline":
        """Returns the later of the two."""
        if self._end is None or other._end is None:
            return self if self._end is None else other
        return self if self._end >= other._end else other


def late() -> RequestError:
    """Returns the error for an answer that would come too late."""
    return RequestError("DEADLINE_EXCEEDED", "The deadline of the request is over.")
