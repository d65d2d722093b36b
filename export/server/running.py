"""`DevelopmentServer` for Python programs, and the loop of the script."""

import contextlib
import ctypes
import gc
import math
import os
import pathlib
import re
import signal
import socket
import sys
import threading

import anyio.to_thread
import uvicorn
from absl import logging
from starlette.middleware.cors import CORSMiddleware

from kbert.cli.progress import activity
from kbert.files.version_folders import version_folder, version_number

from .binary_tensors import JSON_SIZE
from .connection import bounded
from .gate import Gate
from .grpc_api import start_grpc_server
from .limits import Limits
from .metrics import Metrics
from .prompts import warn_of_named_prompts
from .ranking import rank
from .request import Request
from .rest_api import make_app
from .served_model import ServedModel, remove_folders_aside
from .service import Service
from .vertex_routes import VertexRoutes

_BACKLOG = 1024  # connections that the system holds until they are accepted
_WARM_UP_SECONDS = 600.0
# Between two requests of a connection: above Google Cloud's load balancers, which send into one for 600 s.
_IDLE_SECONDS = 620
_LIMITS = Limits()
# A name stands in paths, and in a docker line: no quotes. One like the hub's has a slash.
_NAME = re.compile(r"(?!.{101})[\w.-]*[\w-][\w.-]*(/[\w.-]*[\w-][\w.-]*)?")
_HOST_NAME = re.compile(r"[\w.-]+")  # as it stands in a request's Host, without its port
# `*`, or what browsers send as Origin (RFC 6454): a scheme, a host, perhaps a port.
_ORIGIN = re.compile(r"\*|[a-z][a-z0-9+.-]*://[^\s/*]+", re.IGNORECASE)
_USUAL_PORT = re.compile(r"https://.*:443|http://.*:80", re.IGNORECASE)  # which browsers leave out (RFC 6454)


class DevelopmentServer:
    """Serves one model over gRPC and REST until `stop`, and by the paths of `VertexRoutes`.

    Args:
      model_base_path: what to serve, see `ServedModel`.
      model_name: the model's name in requests; None takes that of the folder.
      port, rest_api_port: of gRPC and REST; 0 picks a free one.
      host: the address to listen on.
      allowed_hosts, api_key, log: see `Gate`.
      cors_origins: whose pages in a browser may ask, for example "https://app.example"; "*" for all.
      limits: what is accepted.

    Attributes:
      model: the `ServedModel`.
      port, rest_api_port: the ports that are open.

    Raises:
      ValueError: nothing there can be served, or a port cannot be opened.

    Examples:
      with DevelopmentServer("serving/sst2", "sst2", port=0, rest_api_port=0) as server:
          requests.get(f"http://localhost:{server.rest_api_port}/v1/models")
    """

    def __init__(
        self,
        model_base_path,
        model_name: str | None = None,
        port: int = 8500,
        rest_api_port: int = 8501,
        host: str = "127.0.0.1",
        allowed_hosts: tuple[str, ...] = (),
        api_key: str | None = None,
        limits: Limits = _LIMITS,
        log: bool = False,
        cors_origins: tuple[str, ...] = (),
    ):
        _require_origins(cors_origins)
        _require_hosts(allowed_hosts)
        vertex = VertexRoutes.from_environment()
        name = model_name or model_name_from(str(model_base_path))
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"model_name={name[:100]!r}; expected letters, digits, '_', '.' and '-', and up to one '/' "
                "between them."
            )
        listener = _listen(host, rest_api_port)  # before a model is loaded
        try:
            self.model = ServedModel(str(model_base_path), name)
            warn_of_named_prompts(self.model)
            self.service = Service(self.model, limits)
            metrics = Metrics()
            metrics.watch_queue(lambda: self.service.queue.length)
            with activity("the first prediction"):
                self._warm_up()
            _return_memory()
            self._grpc, self.port = start_grpc_server(self.service, metrics, host, port, api_key, log)
        except BaseException:
            listener.close()
            raise
        self.rest_api_port = listener.getsockname()[1]
        self._limits = limits
        app = make_app(self.service, metrics, vertex)
        app = Gate(app, limits, metrics, host, allowed_hosts, api_key, log, vertex.health)
        self._rest = _HttpServer(_answering_browsers(app, cors_origins), limits)
        self._thread = threading.Thread(target=self._rest.run, args=([listener],), name="rest", daemon=True)
        self._thread.start()

    def __enter__(self) -> "DevelopmentServer":
        return self

    def __exit__(self, *unused) -> None:
        self.stop()

    def stop(self) -> bool:
        """Takes no more requests and lets running ones end, up to the grace period.

        Returns:
          False if something still runs: the process must then end without taking TensorFlow apart.
        """
        self.service.is_stopping = True
        self._rest.should_exit = True
        stopped = self._grpc.stop(self._limits.grace_seconds)
        self._thread.join(self._limits.grace_seconds + 5)
        stopped.wait()
        return self.service.queue.stop(5)

    def _warm_up(self) -> None:
        """The first run of a signature prunes its graph: not while somebody waits."""
        if self.model.embedding_signature:
            self.model.session.run(self.model.embedding_signature, self.model.tokenize([b"a text"])[0])
        elif self.model.pair_number and self.model.text_inputs:
            rank(self.service, Request(_WARM_UP_SECONDS), "a query", ["a text"])


def _return_memory() -> None:
    """Gives back what loading took and nobody holds: 45 MB of an export, 250 of a checkpoint of MiniLM.

    The C library keeps it otherwise; glibc alone has this call (malloc_trim(3)).
    """
    gc.collect()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


class _HttpServer(uvicorn.Server):
    """uvicorn in a thread; signals belong to the main one."""

    def __init__(self, app, limits: Limits):
        super().__init__(
            uvicorn.Config(
                app,
                http=bounded(limits),
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="critical",  # what clients do wrong is told to them; faults are logged by `Gate`
                access_log=False,
                server_header=False,
                date_header=False,
                timeout_keep_alive=_IDLE_SECONDS,
                timeout_graceful_shutdown=math.ceil(limits.grace_seconds),
                backlog=_BACKLOG,
            )
        )
        self._num_threads = limits.max_pending

    async def serve(self, sockets=None) -> None:
        anyio.to_thread.current_default_thread_limiter().total_tokens = self._num_threads
        await self._serve(sockets)  # `serve` itself would take the signals


def _require_origins(origins) -> None:
    for origin in origins:
        if not _ORIGIN.fullmatch(origin) or _USUAL_PORT.fullmatch(origin):
            raise ValueError(
                f"cors_origins={origin[:100]!r}; expected a scheme, a host and perhaps a port, as in "
                "https://app.example:3000, or * alone for every page. Browsers leave out :443 of https and "
                ":80 of http."
            )


def _require_hosts(names) -> None:
    for name in names:
        if not _HOST_NAME.fullmatch(name):
            raise ValueError(
                f"allowed_hosts={name[:100]!r}; expected a name such as api.example, without scheme and port."
            )


def _answering_browsers(app, origins):
    """The application, which also tells browsers that pages of these origins may ask it."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=[origin.lower() for origin in origins],
        allow_methods=["GET", "HEAD", "POST"],
        allow_headers=["*"],
        allow_private_network=True,  # a page of the internet that asks this machine, in Chrome
        expose_headers=["x-request-id", "retry-after", JSON_SIZE.lower()],
    )


def model_name_from(path: str) -> str:
    """The name of what is served, if none is given: its folder's, or that above a version. A link has its own
    name, which stays when it leads to the next release."""
    scheme, _, hub_name = path.partition("://")
    folder = pathlib.Path(os.path.abspath(hub_name.partition("@")[0] if hub_name else scheme))
    is_version = version_number(folder) is not None and version_folder(folder) == folder
    name = folder.parent.name if is_version else folder.name
    return re.sub(r"[^\w.-]", "_", name) or "model"


def serve_until_signal(path: str, name: str | None, **options) -> None:
    """Serves until SIGTERM, SIGINT or, where nothing else handles it, SIGHUP; while the model loads, each of
    them ends the process."""
    ending = [signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # a lost terminal; nohup has it ignored
        ending.append(signal.SIGHUP)
    for number in ending:
        signal.signal(number, _end_while_loading)
    server = DevelopmentServer(path, name, **options)
    # Another thread may take two signals that come together, as of a lost terminal. Then no handler in Python
    # runs while this thread waits, but their numbers are written at once.
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    for number in (signal.SIGINT, *ending):
        signal.signal(number, lambda *unused: None)
    everywhere = ("0.0.0.0", "::")  # noqa: S104  # compared with, not listened on
    shown = "localhost" if options["host"] in ("127.0.0.1", "::1", *everywhere) else options["host"]
    shown = f"[{shown}]" if ":" in shown else shown
    print(
        f"serving {server.model.name} version {server.model.version}: "
        f"gRPC {shown}:{server.port}, REST http://{shown}:{server.rest_api_port}\n"
        f"a page to try it: http://{shown}:{server.rest_api_port}/  its paths: /docs",
        flush=True,
    )
    with activity(None):
        os.read(reader, 1)
    if not server.stop():
        # A kernel that does not end would crash where TensorFlow is taken apart below it.
        logging.warning("Some requests did not end within the grace period.")
        sys.stdout.flush()
        os._exit(0)


def _end_while_loading(number, frame) -> None:
    remove_folders_aside()
    with contextlib.suppress(OSError):  # the terminal is gone
        os.write(2, f"stopped by {signal.Signals(number).name} while the model was loading\n".encode())
    os._exit(128 + number)


def _listen(host: str, port: int) -> socket.socket:
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
            f"rest_api_port={port} cannot be opened for REST on {host} ({reason}); expected a free port, "
            "or 0 for any."
        ) from error
    return listener
