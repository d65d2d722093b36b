"""One HTTP connection: uvicorn's, with the bounds that it lacks.

uvicorn waits without end for the head of a first request, takes a head of any length and any number of
requests at once, keeps an answer that nobody reads, and forgets to close an idle connection that sent a line
end. Each of these lets a few hundred idle clients lock everybody else out, or one fill the memory. It also
loses the body of a request that offers another protocol, and reads what comes of it later as a request.
"""

import asyncio
import http
import json

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .limits import Limits

_MAX_HEAD_BYTES = 64 << 10
_MAX_PIPELINED = 8  # requests that wait for the one before them on the same connection


def bounded(limits: Limits) -> type:
    """The class of connections with these limits."""
    return type("Connection", (_BoundedConnection,), {"limits": limits})


class _BoundedConnection(HttpToolsProtocol):
    limits: Limits
    _head_timer: asyncio.TimerHandle | None = None
    _unread_timer: asyncio.TimerHandle | None = None
    _head_bytes = 0

    def connection_made(self, transport) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(0)  # writing is paused while anything waits to be read
        self._await_head()
        if len(self.connections) > self.limits.max_connections:
            self._refuse(503, "Too many connections are open; try again later.")

    def connection_lost(self, exc) -> None:
        self._stop_timer()
        self._stop_unread_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_timer = self.loop.call_later(self.limits.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_unread_timer()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._head_bytes += len(data)
        self._unset_keepalive_if_required()
        try:
            self._parse(data)
        except httptools.HttpParserError:
            self._refuse(400, "Invalid HTTP request received.")
        if self._head_timer is not None and self._head_bytes > _MAX_HEAD_BYTES:
            self._refuse(431, f"The head of a request has over {_MAX_HEAD_BYTES} bytes.")
        is_idle = self._head_timer is None and (self.cycle is None or self.cycle.response_complete)
        if is_idle and self.timeout_keep_alive_task is None:  # stopped by bytes that begin no request
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_head()

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ValueError("no tunnel is given")
            return  # `_parse` has it read again
        self._stop_timer()
        super().on_headers_complete()
        if len(self.pipeline) > _MAX_PIPELINED:
            raise ValueError("too many requests at once")  # the parser makes it a 400

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self._head_bytes = 0

    def _parse(self, data: bytes) -> None:
        """Reads requests in HTTP/1.1, also those that offer another protocol (RFC 9110, 7.8).

        The parser ends such a request at its head, and leaves what follows to the other protocol: Java's
        HTTP client offers h2c at each first request, with its body. So the head is read again, without it.
        """
        while data:
            try:
                return self.parser.feed_data(data)
            except httptools.HttpParserUpgrade as offered:
                data = self._head_without_offer() + data[offered.args[0] :]
                self.parser = httptools.HttpRequestParser(self)  # after `close`, the old one reads no more
                self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's own

    def _head_without_offer(self) -> bytes:
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        lines += [b"%s: %s" % header for header in self.headers if header[0] != b"upgrade"]
        return b"\r\n".join([*lines, b"", b""])

    def _await_head(self) -> None:
        self._stop_timer()
        message = "The head of a request did not arrive in time."
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self._refuse, 408, message)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = None

    def _stop_unread_timer(self) -> None:
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        self._unread_timer = None

    def _refuse(self, status: int, message: str) -> None:
        """Answers in place of the app, unless it is about to, and closes."""
        self._stop_timer()
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            body = json.dumps({"error": message}).encode()
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%s"
                % (status, http.HTTPStatus(status).phrase.encode(), len(body), body)
            )
        self.transport.close()
