"""A whole server: the models, and both APIs in front of them."""

import dataclasses
import os
import threading
import time

from absl import logging

from kbert.cli.progress import activity

from ..gate.saved_model_session import RequestError
from .grpc_api import start_grpc_server
from .limits import Limits
from .metrics import Metrics
from .models.loaded_version import BatchingSettings, LoadedVersion
from .models.model_settings import ModelSettings
from .models.runs import Runs
from .models.served_models import ServedModels
from .models.warmup import replay
from .rest.http_server import HttpServer, require_free
from .service import Service

# After the grace period runs are cancelled; a kernel that has begun still ends first.
_SECONDS_TO_CANCEL = 5.0


@dataclasses.dataclass(frozen=True)
class ServerOptions:
    """How a server works, apart from its models.

    Attributes:
        host: the address to listen on.
        port: gRPC port; 0 picks a free one.
        rest_api_port: REST port; 0 picks a free one.
        allowed_hosts: names that REST may be asked by beside localhost, see `HostNames`.
        poll_seconds: how often to look for new versions.
        limits: what is accepted.
        batching: None runs every request alone.
        num_parallel_runs: signatures that run at a time; 0 means as many as there are cores.
    """

    host: str = "127.0.0.1"
    port: int = 8500
    rest_api_port: int = 8501
    allowed_hosts: tuple[str, ...] = ()
    poll_seconds: float = 1.0
    limits: Limits = Limits()
    batching: BatchingSettings | None = None
    num_parallel_runs: int = 0


class Server:
    """Serves models over gRPC and REST until `stop`.

    Args:
        models: what to serve.
        options: how.

    Attributes:
        models: the `ServedModels`.
        port, rest_api_port: the ports that are open.

    Raises:
        ValueError: a model has no version that can be served, or a port cannot be opened.
    """

    def __init__(self, models: list[ModelSettings], options: ServerOptions):
        self._options = options
        # Before a model is loaded.
        require_free(options.host, "port", options.port, "gRPC")
        require_free(options.host, "rest_api_port", options.rest_api_port, "REST")
        self._metrics = Metrics()
        self._runs = Runs(options.num_parallel_runs or os.cpu_count() or 1)
        try:
            self.models = ServedModels(models, self._load, options.poll_seconds)
        except RequestError as error:
            raise ValueError(error.message) from error
        self._metrics.is_served = self.models.__contains__
        self._service = Service(self.models, options.limits, self._metrics)
        try:
            self._grpc_server, self.port = start_grpc_server(self._service, options.host, options.port)
            self._rest_server = HttpServer(
                self._service, options.host, options.rest_api_port, options.allowed_hosts
            )
        except ValueError:
            self._close_all()
            raise
        self.rest_api_port = self._rest_server.port

    def stop(self) -> bool:
        """Takes no more requests, lets running ones end, and cancels them after the grace period.

        Returns:
            False if something still runs: the process must then end without taking TensorFlow apart.
        """
        self.models.begin_stop()
        self._rest_server.begin_stop()
        grpc_stopped = self._grpc_server.stop(self._options.limits.grace_seconds)
        self._rest_server.wait_until_stopped()
        grpc_stopped.wait()
        # In a thread: closing a session waits for its runs, and a kernel cannot be cancelled.
        closing = threading.Thread(target=self.models.close, name="close_models", daemon=True)
        closing.start()
        is_idle = self._service.admission.wait_until_empty(_SECONDS_TO_CANCEL)
        closing.join(0 if not is_idle else _SECONDS_TO_CANCEL)
        return is_idle and not closing.is_alive() and self.models.wait_until_stopped(_SECONDS_TO_CANCEL)

    def _close_all(self) -> None:
        self.models.begin_stop()
        if hasattr(self, "_grpc_server"):
            self._grpc_server.stop(grace=None).wait()
        self.models.close()

    def _load(self, name: str, version: int, folder) -> LoadedVersion:
        """Loads one version, and warms it up."""
        with activity(f"{name} version {version}: reading it") as now:
            loaded = LoadedVersion(name, version, folder, self._runs, self._metrics, self._options.batching)
            now.text = f"{name} version {version}: warm-up requests"
            number = self._warm_up(loaded, folder)
        if number:
            logging.info("%s version %d: %d warm-up requests replayed", name, version, number)
        return loaded

    def _warm_up(self, loaded: LoadedVersion, folder) -> int:
        began, status = time.perf_counter(), "OK"
        try:
            return replay(loaded, folder, self._options.limits)
        except RequestError as error:
            status = error.status
            raise
        finally:
            self._metrics.warmed_up(str(folder), status, time.perf_counter() - began)
