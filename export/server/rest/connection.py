"""One HTTP connection: uvicorn's, with the bounds that it lacks.

uvicorn closes a connection that is idle between two requests. It waits without end for the head of the first
one, takes a head of any length, and keeps an answer that nobody reads. Each of these lets a few hundred
idle clients lock everybody else out.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...gate.saved_model_session import RequestError
from ..limits import Limits
from .rest_api import error_body

_MAX_HEAD_BYTES = 64 << 10
_REASONS = {400: b"Bad Request", 408: b"Request Timeout", 431: b"Request Header Fields Too Large",
            503: b"Service Unavailable"}  # fmt: skip


def bounded(limits: Limits) -> type:
    """Returns the class of connections with these limits."""
    return type("Connection", (_BoundedConnection,), {"limits": limits})


class _BoundedConnection(HttpToolsProtocol):
    limits: Limits
    _head_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0
    _in_head = True
    _num_answers = 0
    _reads_no_more = False

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.limits.max_connections:
            self._refuse(
                503, "UNAVAILABLE", f"{len(self.connections)} connections are open; try again later."
            )
            return
        self._await_head()

    def connection_lost(self, exc) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._reads_no_more:
            return
        self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
            self._refuse(431, "INVALID_ARGUMENT", f"The head of a request has over {_MAX_HEAD_BYTES} bytes.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        self._stop_timer()
        self._in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head, self._head_bytes = True, 0

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._num_answers += 1
        self.loop.call_later(self.limits.body_seconds, self._end_unread, self._num_answers)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "INVALID_ARGUMENT", msg)

    def _await_head(self) -> None:
        self._stop_timer()
        self._in_head = True
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._refuse(408, "DEADLINE_EXCEEDED", "The head of a request did not arrive in time.")

    def _refuse(self, status: int, code: str, message: str) -> None:
        """Answers in place of the app, and closes."""
        self._stop_timer()
        if self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is not None and not cycle.more_body and not cycle.response_complete:
            # The answer to the request before this one is still to come: it closes the connection.
            cycle.keep_alive, self._reads_no_more = False, True
            return
        if cycle is None or not cycle.response_started or cycle.response_complete:
            body = error_body(RequestError(code, message))
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%s" % (status, _REASONS[status], len(body), body)
            )
        self.transport.close()
        self._num_answers += 1
        self.loop.call_later(self.limits.body_seconds, self._end_unread, self._num_answers)

    def _end_unread(self, answer: int) -> None:
        """Gives up on a client that has not read an answer to its end."""
        if answer == self._num_answers and self.transport.get_write_buffer_size() > 0:
            self.transport.abort()
