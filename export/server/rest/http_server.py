"""The HTTP server: uvicorn in a thread of its own."""

import math
import socket
import threading

import uvicorn

from ..service import Service
from .connection import bounded
from .host_names import HostNames
from .http_app import HttpApp

_BACKLOG = 1024  # connections that the system holds until they are accepted
_IDLE_SECONDS = 75  # between two requests of a connection


class HttpServer:
    """Serves the REST API until `stop`.

    Args:
        service: the models that answer.
        host: the address to listen on.
        port: 0 picks a free one.
        allowed_hosts: more names to be asked by, see `HostNames`.

    Attributes:
        port: the port that is open.

    Raises:
        ValueError: the port cannot be opened.
    """

    def __init__(self, service: Service, host: str, port: int, allowed_hosts: tuple[str, ...] = ()):
        listener = _listen(host, port)
        self.port = listener.getsockname()[1]
        self._app = HttpApp(service, HostNames(host, allowed_hosts))
        config = uvicorn.Config(
            self._app,
            http=bounded(service.limits),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="error",  # what clients do wrong is told to them, not to the log
            access_log=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_IDLE_SECONDS,
            timeout_graceful_shutdown=math.ceil(service.limits.grace_seconds),
            backlog=_BACKLOG,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([listener],), name="rest_api", daemon=True
        )
        self._thread.start()

    def begin_stop(self) -> None:
        """Takes no more requests; those that have begun go on within the grace period."""
        self._server.should_exit = True

    def wait_until_stopped(self) -> None:
        """Waits for the end that `begin_stop` asked for."""
        self._thread.join()
        self._app.close()


def require_free(host: str, flag: str, port: int, api: str) -> None:
    """Raises ValueError, which names the flag and the API, for a port that cannot be opened."""
    _listen(host, port, flag, api).close()


def _listen(host: str, port: int, flag: str = "rest_api_port", api: str = "REST") -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With the protocol named, asyncio switches Nagle's algorithm off: head and body of an answer are two
    # writes, and the second would wait 40 ms for the client's acknowledgement.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        raise ValueError(
            f"{flag}={port} cannot be opened for {api} on {host} ({reason}). Expected a free "
            "port; pass another one, or 0 for any."
        ) from error
    return listener
