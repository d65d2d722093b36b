"""What stands in front of every REST request: who may ask, how much at a time, what is logged of it."""

import asyncio
import hmac
import http
import ipaddress
import json
import re
import traceback

from absl import logging

from ..gate.saved_model_session import RequestError
from .limits import Limits
from .metrics import Metrics
from .request import Request

HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_EXHAUSTED": 413,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "CANCELLED": 503,
    "DEADLINE_EXCEEDED": 504,
}
# Answered without a key: whether the server lives, and the page that asks for the key.
_OPEN = re.compile(r"/|/health|/page/.*")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/]*)(:\d*)?", re.IGNORECASE)


class Gate:
    """An ASGI application around another one.

    Args:
      app: what answers.
      limits: of bodies, and of requests at a time.
      metrics: what was answered.
      host: the address that is listened on. On this machine alone, only its own names may be asked by:
        otherwise a web page could let its name point here.
      allowed_hosts: more such names.
      api_key: what `Authorization: Bearer` must bring; None lets everybody ask.
      log: whether each request gets a line.
    """

    def __init__(
        self,
        app,
        limits: Limits,
        metrics: Metrics,
        host="127.0.0.1",
        allowed_hosts=(),
        api_key=None,
        log=False,
    ):
        self._app, self._limits, self._metrics, self._log = app, limits, metrics, log
        self._names = {"", "localhost", *(name.lower() for name in allowed_hosts)}
        self._is_private = host == "localhost" or (
            _is_address(host) and ipaddress.ip_address(host).is_loopback
        )
        self._api_key = api_key
        self._num_inside = self._bytes_inside = 0  # of the event loop's thread alone

    async def __call__(self, scope, receive, send) -> None:
        request, answered = Request(self._limits.timeout_seconds), []
        # As it was sent: decoded, it may hold line ends, and with them lines that look like the log's.
        path = scope["raw_path"][:200].decode("latin-1")
        scope.setdefault("state", {})["request"] = request

        async def note_and_send(message):
            if message["type"] == "http.response.start":
                answered.append(message["status"])
            await send(message)

        self._num_inside += 1
        try:
            await self._answer(scope, receive, note_and_send, request)
        except Exception as error:  # anything else than a refusal is a fault of this server
            if not isinstance(error, RequestError):
                logging.error("%s: %s", path, traceback.format_exc())
                error = RequestError("INTERNAL", "An error inside the server; its log has more.")
            if not answered:
                await send_error(
                    note_and_send, HTTP_STATUS.get(error.status, 500), error.message, scope["path"]
                )
        finally:
            self._num_inside -= 1
            status = answered[0] if answered else 499
            self._metrics.answered(_route(scope), status, request)
            if self._log:
                logging.info(request.line(f"{scope['method']} {path}", status))

    async def _answer(self, scope, receive, send, request: Request) -> None:
        headers = dict(scope["headers"])
        self._check_host(headers.get(b"host", b"").decode("latin-1"))
        self._check_key(scope["path"], headers.get(b"authorization", b""))
        if self._num_inside > self._limits.max_pending and scope["method"] == "POST":
            raise RequestError("UNAVAILABLE", "Too many requests run or wait; try again a little later.")
        size = 0
        try:
            body = bytearray()
            async with asyncio.timeout(self._limits.body_seconds):
                more = self._check_size(int(headers.get(b"content-length", b"0")), 0)
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    part = message.get("body", b"")
                    self._check_size(size + len(part), len(part))
                    body += part
                    size += len(part)
                    self._bytes_inside += len(part)
                    more = message.get("more_body", False)
            await self._run(scope, receive, send, request, bytes(body))
        except TimeoutError:
            await send_error(send, 408, "The body did not arrive in time.", scope["path"], close=True)
        except _TooLarge as error:  # the rest of the body is not read, so the connection cannot go on
            await send_error(send, error.http_status, error.message, scope["path"], close=True)
        finally:
            self._bytes_inside -= size

    async def _run(self, scope, receive, send, request: Request, body: bytes) -> None:
        async def whole_body():
            return {"type": "http.request", "body": body, "more_body": False}

        async def watch():
            if (await receive())["type"] == "http.disconnect":
                request.give_up()

        # Bodies are JSON whatever their client calls them: curl says that a form comes.
        kept = [header for header in scope["headers"] if header[0] != b"content-type"]
        scope["headers"] = [*kept, (b"content-type", b"application/json")]
        watching = asyncio.create_task(watch())
        try:
            await self._app(scope, whole_body, send)
        finally:
            watching.cancel()

    def _check_host(self, host: str) -> None:
        match = _HOST.fullmatch(host.strip().lower())
        name = match[1].strip("[]") if match else None
        if self._is_private and name not in self._names and not (name and _is_address(name)):
            raise RequestError(
                "PERMISSION_DENIED",
                f"This server listens on its own machine alone and was asked by the name {host[:100]!r}. Ask "
                "it by localhost or by its address, or name that host with --allowed_hosts.",
            )

    def _check_key(self, path: str, authorization: bytes) -> None:
        if self._api_key and not _OPEN.fullmatch(path) and not is_key(authorization, self._api_key):
            raise RequestError("UNAUTHENTICATED", "Expected the header Authorization: Bearer KEY.")

    def _check_size(self, size: int, new: int) -> bool:
        if size > self._limits.max_message_bytes:
            most = self._limits.max_message_bytes
            raise _TooLarge(413, f"The body has over {most} bytes (--max_message_bytes); send fewer texts.")
        if self._bytes_inside + new > self._limits.max_pending_bytes:
            raise _TooLarge(503, "Too much is being sent at once; try again a little later.")
        return True


class _TooLarge(Exception):
    """A body that is not read to its end."""

    def __init__(self, http_status: int, message: str):
        super().__init__(message)
        self.http_status, self.message = http_status, message


def is_key(authorization: bytes, api_key: str) -> bool:
    """Whether an Authorization header brings the key."""
    return hmac.compare_digest(authorization, b"Bearer " + api_key.encode())


async def send_error(send, status: int, message: str, path: str, close: bool = False) -> None:
    """Sends an error in the form that the clients of a path know."""
    body = json.dumps(error_body(status, message, path)).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if close:
        headers.append((b"connection", b"close"))
    if status == 503:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def error_body(status: int, message: str, path: str) -> dict:
    """TensorFlow Serving's form below /v1/models/NAME, OpenAI's below the rest of /v1, else a sentence."""
    if not path.startswith("/v1/") or path.startswith("/v1/models/"):
        return {"error": message}
    kind = http.HTTPStatus(status).phrase.lower().replace(" ", "_")
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}


def _route(scope) -> str:
    """The path as the app declares it, so that strange paths are one line of the metrics."""
    return getattr(scope.get("route"), "path", "other")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
