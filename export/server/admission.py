"""How many requests may run or wait at a time; more are turned away at once."""

import contextlib
import threading

from ..gate.saved_model_session import RequestError


class Admission:
    """Counts the requests inside the server and their bytes, and sheds what is too much.

    A server that queues without end answers everybody too late. One that says UNAVAILABLE at once leaves the
    choice to the client: to wait and try again, or to ask another server.

    Args:
        max_pending: how many requests may be inside.
        max_pending_bytes: how large they may be together. A request that is alone is always let in.
    """

    def __init__(self, max_pending: int, max_pending_bytes: int):
        self._max_pending = max_pending
        self._max_pending_bytes = max_pending_bytes
        self._pending = 0
        self._pending_bytes = 0
        self._changed = threading.Condition()

    @property
    def pending(self) -> int:
        """How many requests are inside."""
        return self._pending

    @contextlib.contextmanager
    def enter(self, num_bytes: int):
        """Lets one request in for the `with` block.

        Args:
            num_bytes: its size.

        Raises:
            RequestError: `UNAVAILABLE`: too many are inside, or they are too large.
        """
        self.begin(num_bytes)
        try:
            yield
        finally:
            self.end(num_bytes)

    def begin(self, num_bytes: int) -> None:
        """Lets one request in until `end`; see `enter`."""
        with self._changed:
            if self._pending >= self._max_pending:
                raise self._full(f"{self._pending} requests", "--max_pending")
            if self._pending and self._pending_bytes + num_bytes > self._max_pending_bytes:
                raise self._full(f"Requests of {self._pending_bytes} bytes", "--max_pending_bytes")
            self._pending += 1
            self._pending_bytes += num_bytes

    def end(self, num_bytes: int) -> None:
        """Counts one request that has ended."""
        with self._changed:
            self._pending -= 1
            self._pending_bytes -= num_bytes
            self._changed.notify_all()

    def wait_until_empty(self, seconds: float) -> bool:
        """Waits until no request is inside; returns False if some still are."""
        with self._changed:
            return self._changed.wait_for(lambda: self._pending == 0, seconds)

    def _full(self, what: str, flag: str) -> RequestError:
        return RequestError(
            "UNAVAILABLE",
            f"{what} are running or waiting; the server takes no more ({flag}). Try again a little later.",
        )
