"""One HTTP connection: uvicorn's, with the bounds that it lacks.

uvicorn waits without end for the head of a first request, takes a head of any length and any number of
requests at once, keeps an answer that nobody reads, and forgets to close an idle connection that sent a line
end. Each of these lets a few hundred idle clients lock everybody else out, or one fill the memory. It also
loses the body of a request that offers another protocol, and reads what comes of it later as a request.
And it closes while a client still sends, which then sees its connection reset instead of the answer.
"""

import asyncio
import contextlib
import http
import json
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .limits import Limits

_MAX_HEAD_BYTES = 64 << 10
_MAX_PIPELINED = 8  # requests that wait for the one before them on the same connection
_MAX_UNREAD_BYTES = 64 << 20  # that come after the last answer, and are thrown away


def bounded(limits: Limits) -> type:
    """The class of connections with these limits."""
    return type("Connection", (_BoundedConnection,), {"limits": limits})


class _StagedTransport:
    """A transport that closes in two stages while the other side sends (RFC 9112, 9.6).

    With bytes unread, the system would reset the connection, and drop the answer with it. So first only this
    side's half is closed; the second `close`, or the other side's, closes all.

    Args:
      transport: asyncio's.
      half_close: called by the first `close`; returns whether the other half stays open.
    """

    def __init__(self, transport, half_close):
        self._transport, self._half_close = transport, half_close
        self._is_half_closed = False

    def __getattr__(self, name):
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        return self._is_half_closed or self._transport.is_closing()

    def close(self) -> None:
        if self.is_closing() or not self._half_close():
            return self._transport.close()
        self._is_half_closed = True
        with contextlib.suppress(OSError):  # the other side has gone
            self._transport.write_eof()


class _BoundedConnection(HttpToolsProtocol):
    limits: Limits
    _head_timer: asyncio.TimerHandle | None = None
    _unread_timer: Any = None  # an asyncio.TimerHandle, from the first pause of writing on
    _head_bytes = _unread_bytes = 0
    _is_sending = False  # whether the client has begun a request and not ended it
    _refusal: tuple[int, str] | None = None  # of what cannot be read: the last answer
    _is_shutting_down = False

    def connection_made(self, transport) -> None:
        staged: Any = _StagedTransport(transport, self._half_close)
        super().connection_made(staged)
        transport.set_write_buffer_limits(0)  # writing is paused while anything waits to be read
        self._await_head()
        if len(self.connections) > self.limits.max_connections:
            every = (each for each in self.connections if not each.transport.is_closing())
            if idle := [each for each in every if each.timeout_keep_alive_task is not None]:
                min(idle, key=lambda each: each.timeout_keep_alive_task.when()).shutdown()  # the longest
            else:
                self._refuse(503, "Too many connections are open; try again later.")

    def connection_lost(self, exc) -> None:
        self._stop_timer()
        if self._unread_timer is not None:
            self._unread_timer.cancel()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        self._is_shutting_down = True
        if self.transport.is_closing():
            self.transport.close()  # now, for it may have been half-closed
        super().shutdown()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_timer = self.loop.call_later(self.limits.body_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        self._unread_timer.cancel()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing() or self._refusal is not None:
            self._unread_bytes += len(data)
            if self._unread_bytes > _MAX_UNREAD_BYTES:
                self.transport.abort()
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
        self._is_sending = True
        self._await_head()

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ValueError("no tunnel is given")
            return  # `_parse` has it read again
        self._stop_timer()
        if len(self.pipeline) >= _MAX_PIPELINED:
            self._refuse(400, f"Over {_MAX_PIPELINED} requests wait; send the next after an answer.")
            raise ValueError("too many requests at once")  # the parser stops
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        if self.parser.should_upgrade():
            return
        super().on_message_complete()
        self._head_bytes, self._is_sending = 0, False

    def on_response_complete(self) -> None:
        if self._refusal is not None and not self.transport.is_closing():
            self._answer_refusal(*self._refusal)
        super().on_response_complete()

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
        self._head_timer = self.loop.call_later(self.limits.head_seconds, self._end_head)

    def _end_head(self) -> None:
        if self.flow.read_paused:  # behind other requests: nobody reads it yet
            return self._await_head()
        self._refuse(408, "The head of a request did not arrive in time.")

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
        self._head_timer = None

    def _refuse(self, status: int, message: str) -> None:
        """Closes with this answer, behind those to the requests that were sent whole before."""
        if self._refusal is not None:
            return
        self._stop_timer()
        self._refusal = status, message
        if not self.pipeline:
            self._answer_refusal(status, message)

    def _answer_refusal(self, status: int, message: str) -> None:
        """Answers in place of the app, unless it answers a whole request next, or is about to, and closes."""
        cycle = self.pipeline[-1][0] if self.pipeline else self.cycle
        is_open = cycle is not None and not cycle.response_complete
        if is_open and not cycle.more_body:
            return
        if not (is_open and cycle.response_started):
            body = json.dumps({"error": message}).encode()
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n"
                b"connection: close\r\n\r\n%s"
                % (status, http.HTTPStatus(status).phrase.encode(), len(body), body)
            )
        self.transport.close()
        if is_open:
            cycle.disconnected = True
            cycle.message_event.set()

    def _half_close(self) -> bool:
        """Whether the client may still send; what comes is thrown away, for a while."""
        if self._is_shutting_down or not self._is_sending:
            return False
        self._stop_timer()
        self._head_timer = self.loop.call_later(self.limits.body_seconds, self.transport.abort)
        self.flow.resume_reading()
        return True
