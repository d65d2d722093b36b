"""The ASGI application: reads a request with bounds, answers it in a thread, sends the answer."""

import asyncio
import traceback
from concurrent import futures
from typing import NamedTuple

from absl import logging

from ...gate.saved_model_session import RequestError
from .. import metrics
from ..deadline import late
from ..page import model_list, page_files, vocabulary
from ..service import Service
from .host_names import HostNames
from .rest_api import HTTP_STATUS, answer, error_body

_JSON, _TEXT = b"application/json", b"text/plain; version=0.0.4; charset=utf-8"
# Bodies that are being read, in multiples of the largest one.
_BODIES_AT_ONCE = 8
# A run that is late is cancelled by its own deadline; after this the client is told all the same.
_SECONDS_TO_END = 1.0
# For requests that run no model: they are answered also while all other threads wait.
_NUM_QUICK_THREADS = 2


class HttpApp:
    """Answers the REST paths, the page to try models, and the page for Prometheus.

    Args:
        service: the models that answer.
        host_names: the names that it may be asked by.
    """

    def __init__(self, service: Service, host_names: HostNames):
        self._service, self._host_names = service, host_names
        self._page_files = page_files.read_page_files()
        self._bytes_being_read = 0  # of the event loop's thread alone
        self._threads = futures.ThreadPoolExecutor(service.limits.max_pending, thread_name_prefix="rest")
        self._quick_threads = futures.ThreadPoolExecutor(_NUM_QUICK_THREADS, thread_name_prefix="rest_quick")

    async def __call__(self, scope, receive, send) -> None:
        if scope["type"] != "http":
            return
        # The path as it came: a model's name may hold an encoded slash.
        path = scope["raw_path"].decode("ascii", "replace")
        try:
            body = await self._body(scope, receive)
            if body is None:
                return  # the client has gone
            self._host_names.check(scope["headers"])
            reply = await self._reply(scope["method"], path, body)
        except _TooLarge as error:
            # The rest of the body is not read, so the connection cannot go on.
            reply = _Reply(error.http_status, error_body(error), close=True)
        except RequestError as error:
            reply = _Reply(HTTP_STATUS.get(error.status, 500), error_body(error))
        except asyncio.CancelledError:  # the grace period is over
            stopping = RequestError("UNAVAILABLE", "The server is stopping.")
            reply = _Reply(503, error_body(stopping), close=True)
        except Exception:  # a fault of this server: uvicorn would answer in plain text
            logging.error("REST %s %s: %s", scope["method"], path, traceback.format_exc())
            fault = RequestError("INTERNAL", "An error inside the server; its log has more.")
            reply = _Reply(500, error_body(fault), close=True)
        await _send(send, reply)

    def close(self) -> None:
        """Lets the threads end."""
        self._threads.shutdown(wait=False)
        self._quick_threads.shutdown(wait=False)

    async def _reply(self, method: str, path: str, body: bytes) -> "_Reply":
        if path in self._page_files and method in ("GET", "HEAD"):
            file = self._page_files[path]
            return _Reply(200, file.content, file.kind, headers=page_files.HEADERS)
        kind = _TEXT if path == metrics.PATH else _JSON
        return _Reply(200, await self._answer(method, path, body), kind)

    async def _answer(self, method: str, path: str, body: bytes) -> bytes:
        loop = asyncio.get_running_loop()
        if path == metrics.PATH:
            return await loop.run_in_executor(self._quick_threads, self._service.metrics.page)
        if path == model_list.PATH and method == "GET":
            return await loop.run_in_executor(
                self._quick_threads, model_list.model_list, self._service.models
            )
        if path.startswith(vocabulary.PREFIX) and method == "GET":
            return await loop.run_in_executor(
                self._quick_threads, vocabulary.vocabulary, self._service.models, path
            )
        if method != "POST":
            return await loop.run_in_executor(self._quick_threads, answer, self._service, method, path, b"")
        self._service.admission.begin(len(body))
        running = self._threads.submit(answer, self._service, method, path, body)
        # Not when this coroutine ends: it may be cancelled while the thread goes on.
        running.add_done_callback(lambda _: self._service.admission.end(len(body)))
        try:
            async with asyncio.timeout(self._service.limits.rest_timeout_seconds + _SECONDS_TO_END):
                return await asyncio.wrap_future(running)
        except TimeoutError as error:  # a kernel that does not end: the client need not wait for it
            raise late() from error

    async def _body(self, scope, receive) -> bytes | None:
        """Returns the whole body; None where the client has gone."""
        limits, parts, size = self._service.limits, [], 0
        self._check_size(_declared_length(scope), 0)
        try:
            async with asyncio.timeout(limits.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return None
                    part = message["body"]
                    self._check_size(size + len(part), len(part))
                    parts.append(part)
                    size += len(part)
                    self._bytes_being_read += len(part)
                    if not message["more_body"]:
                        return b"".join(parts)
        except TimeoutError as error:
            raise _TooLarge(408, "DEADLINE_EXCEEDED", "The body did not arrive in time.") from error
        finally:
            self._bytes_being_read -= size

    def _check_size(self, size: int, new: int) -> None:
        largest = self._service.limits.max_message_bytes
        if size > largest:
            raise _TooLarge(
                413,
                "INVALID_ARGUMENT",
                f"The body has {size} bytes or more; this server takes up to {largest} "
                "(--max_message_bytes). Send fewer texts at once.",
            )
        if self._bytes_being_read + new > _BODIES_AT_ONCE * largest:
            raise _TooLarge(503, "UNAVAILABLE", "Too much is being sent at once; try again a little later.")


class _Reply(NamedTuple):
    status: int
    body: bytes
    kind: bytes = _JSON
    close: bool = False
    headers: tuple[tuple[bytes, bytes], ...] = ()


class _TooLarge(RequestError):
    """A body that is not read to its end."""

    def __init__(self, http_status: int, status: str, message: str):
        super().__init__(status, message)
        self.http_status = http_status


def _declared_length(scope) -> int:
    lengths = [value for name, value in scope["headers"] if name == b"content-length"]
    return int(lengths[0]) if lengths and lengths[0].isdigit() else 0


async def _send(send, reply: _Reply) -> None:
    headers = [(b"content-type", reply.kind), (b"content-length", b"%d" % len(reply.body)), *reply.headers]
    if reply.close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body})
