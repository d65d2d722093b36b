"""How many requests may run or wait at a time; more are turned away at once."""

import contextlib
import threading

from ..gate.saved_model_session import RequestError


class Admission:
    """Counts the requests inside the server, and sheds what is too much.

    A server that queues without end answers everybody too late. One that says UNAVAILABLE at once leaves the
    choice to the client: to wait and try again, or to ask another server.

    Args:
        max_pending: how many requests may be inside.
    """

    def __init__(self, max_pending: int):
        self._max_pending = max_pending
        self._pending = 0
        self._changed = threading.Condition()

    @property
    def pending(self) -> int:
        """How many requests are inside."""
        return self._pending

    @contextlib.contextmanager
    def enter(self):
        """Lets one request in for the `with` block.

        Raises:
            RequestError: `UNAVAILABLE`: too many are inside.
        """
        self.begin()
        try:
            yield
        finally:
            self.end()

    def begin(self) -> None:
        """Lets one request in until `end`; see `enter`."""
        with self._changed:
            if self._pending >= self._max_pending:
                raise RequestError(
                    "UNAVAILABLE",
                    f"{self._pending} requests are running or waiting, and the server takes no more "
                    "(--max_pending). Try again a little later.",
                )
            self._pending += 1

    def end(self) -> None:
        """Counts one request that has ended."""
        with self._changed:
            self._pending -= 1
            self._changed.notify_all()

    def wait_until_empty(self, seconds: float) -> bool:
        """Waits until no request is inside; returns False if some still are."""
        with self._changed:
            return self._changed.wait_for(lambda: self._pending == 0, seconds)
