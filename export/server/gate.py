"""What stands in front of every REST request: who may ask, how much at a time, what is logged of it."""

import asyncio
import hmac
import ipaddress
import re
import string
import traceback
import urllib.parse

from absl import logging

from ..gate.saved_model_session import RequestError
from .errors import HTTP_STATUS, send_error
from .limits import Limits
from .metrics import Metrics
from .request import Request, invalid
from .unpacking import BodyRefused, unpacked

# Answered without a key: whether the server lives, and the page that asks for the key.
_OPEN = re.compile(r"/|/health|/ping|/v2/health/(live|ready)|/page/.*")
# Of clients of Azure, and it changes no answer.
_HARMLESS_PARAMETERS = {"api-version"}
# Those that are read: of two, nobody knows which counts, here and at a proxy (RFC 9112, 3.2).
_SINGLE_HEADERS = (b"host", b"authorization", b"content-encoding")
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/]*)(:\d*)?", re.IGNORECASE)


class Gate:
    """An ASGI application around another one.

    Args:
      app: what answers.
      limits: of bodies, and of requests at a time.
      metrics: what was answered.
      host: the address that is listened on. On this machine alone, only its own names and addresses may be
        asked by: otherwise a web page could let its name point here.
      allowed_hosts: more such names; where there are any, the same holds on every address.
      api_key: what `Authorization: Bearer` must bring; None lets everybody ask.
      log: whether each request gets a line.
      health: a further path that is answered without a key.
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
        health=None,
    ):
        self._app, self._limits, self._metrics, self._log = app, limits, metrics, log
        self._names = {"", "localhost", *(name.lower() for name in allowed_hosts)}
        is_private = host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
        self._has_names = is_private or bool(allowed_hosts)
        self._api_key, self._health = api_key, health
        self._num_inside = self._bytes_inside = 0  # of the event loop's thread alone

    async def __call__(self, scope, receive, send) -> None:
        request, answered = Request(self._limits.timeout_seconds, self._limits.timeout), []
        # As it was sent: decoded, it may hold line ends, and with them lines that look like the log's.
        sent = f"{scope['method']} {scope['raw_path'][:200].decode('latin-1')}"
        scope = _as_the_app_knows(scope, request)
        request_id = _request_id(scope)

        async def note_and_send(message):
            if message["type"] == "http.response.start":
                answered.append(message["status"])
                message["headers"] = [*message.get("headers", ()), *request_id]
            await send(message)

        self._num_inside += 1
        try:
            await self._answer(scope, receive, note_and_send, request)
        except Exception as error:  # anything else than a refusal is a fault of this server
            if not isinstance(error, RequestError):
                logging.error("%s: %s", sent, traceback.format_exc())
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
                id_shown = "".join(f" id={value.decode()}" for _, value in request_id)
                logging.info(request.line(sent, status) + id_shown)

    async def _answer(self, scope, receive, send, request: Request) -> None:
        _check_headers(scope)
        headers = dict(scope["headers"])
        self._check_host(headers.get(b"host", b"").decode("latin-1"))
        self._check_key(scope, headers.get(b"authorization", b""))
        _check_parameters(scope)
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
            packing = headers.get(b"content-encoding", b"").decode("latin-1").strip().lower()
            if packing not in ("", "identity"):
                most = self._limits.max_message_bytes
                body = await asyncio.to_thread(unpacked, body, packing, most)
                self._bytes_inside -= size  # the packed body is not kept
                size = 0
                self._check_size(len(body), len(body))
                size = len(body)
                self._bytes_inside += size
            await self._run(scope, receive, send, request, bytes(body))
        except TimeoutError:
            await send_error(send, 408, "The body did not arrive in time.", scope["path"], close=True)
        except BodyRefused as error:  # the rest of the body is not read, so the connection cannot go on
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
        if self._has_names and name not in self._names and not (name and _is_address(name)):
            raise RequestError(
                "PERMISSION_DENIED",
                f"This server was asked by the name {host[:100]!r}, which is none of its own. Ask it by "
                "localhost or by its address, or name that host with --allowed_hosts.",
            )

    def _check_key(self, scope, authorization: bytes) -> None:
        path = scope["path"]
        is_open = scope["method"] == "GET" and (path == self._health or _OPEN.fullmatch(path))
        if self._api_key is not None and not is_open and not is_key(authorization, self._api_key):
            raise RequestError("UNAUTHENTICATED", "Expected the header Authorization: Bearer KEY.")

    def _check_size(self, size: int, new: int) -> bool:
        if size > self._limits.max_message_bytes:
            most = self._limits.max_message_bytes
            raise BodyRefused(413, f"The body has over {most} bytes (--max_message_bytes); send fewer texts.")
        if self._bytes_inside + new > self._limits.max_pending_bytes:
            raise BodyRefused(503, "Too much is being sent at once; try again a little later.")
        return True


def require_key(api_key: str | None, name: str) -> None:
    """Raises ValueError for a key that no header can bring: an empty one would let everybody ask.

    Args:
      api_key: the key; None lets everybody ask.
      name: what the message calls it.
    """
    if api_key is None:
        return
    if not api_key or not api_key.isascii() or set(api_key) & set(string.whitespace):
        what = "no key that a header can bring" if api_key.strip() else "empty"
        raise ValueError(
            f"{name} is {what}; expected a word of ASCII characters without white space or a line end. Leave "
            "it out to let everybody ask."
        )


def is_key(authorization: bytes, api_key: str) -> bool:
    """Whether an Authorization header brings the key; the word before it has no case (RFC 9110, 11.1)."""
    scheme, _, key = authorization.strip().partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(key.lstrip(), api_key.encode())


def _as_the_app_knows(scope, request: Request) -> dict:
    """The scope of a request for the paths: HEAD is GET, whose body the connection leaves out; no slash at
    the end."""
    method = "GET" if scope["method"] == "HEAD" else scope["method"]
    path = scope["path"].rstrip("/") or "/"
    return scope | {"method": method, "path": path, "state": scope.get("state", {}) | {"request": request}}


def _request_id(scope) -> list[tuple[bytes, bytes]]:
    """The header by which a client finds its request in the log, to be sent back."""
    return [
        pair for pair in scope["headers"] if pair[0] == b"x-request-id" and _REQUEST_ID.fullmatch(pair[1])
    ][:1]


def _check_headers(scope) -> None:
    """Raises `RequestError` for a header that may come once and comes twice."""
    names = [name for name, _ in scope["headers"]]
    for name in _SINGLE_HEADERS:
        if names.count(name) > 1:
            shown = name.decode().title()
            raise invalid(f"The request has {names.count(name)} headers {shown}; send one.")


def _check_parameters(scope) -> None:
    """Raises `RequestError` for a POST with parameters in its URL, which nobody would read."""
    if scope["method"] == "POST" and scope["query_string"]:
        names = urllib.parse.parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if unknown := sorted(set(names) - _HARMLESS_PARAMETERS):
            raise invalid(f"{', '.join(unknown)[:200]}: nothing of the URL is read; send it in the body.")


def _route(scope) -> str:
    """The path as the app declares it, so that strange paths are one line of the metrics."""
    return getattr(scope.get("route"), "path", "other")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
