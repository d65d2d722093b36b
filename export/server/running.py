"""`DevelopmentServer` for Python programs, and the loop of the script."""

import os
import pathlib
import shlex
import signal
import sys
import threading

from absl import logging

from kbert.activity import activity, at_rest

from .composition import Server, ServerOptions
from .models.model_settings import ModelSettings

_REAL_SERVER = "tensorflow/serving:2.19.1"


class DevelopmentServer(Server):
    """Serves one model over gRPC and REST until `stop`.

    Args:
        model_base_path: folder of version folders.
        model_name: the model's name in requests.
        port: gRPC port; 0 picks a free one.
        rest_api_port: REST port; 0 picks a free one.
        options: the rest of `ServerOptions`, by name.

    Example:
        with DevelopmentServer("served/sst2", "sst2", port=0, rest_api_port=0) as server:
            ServingClient(f"localhost:{server.port}", "sst2").predict({"text": np.array(["fine"])})
    """

    def __init__(
        self, model_base_path: str, model_name: str, port: int = 8500, rest_api_port: int = 8501, **options
    ):
        settings = ModelSettings(model_name, str(model_base_path))
        super().__init__([settings], ServerOptions(port=port, rest_api_port=rest_api_port, **options))

    def __enter__(self) -> "DevelopmentServer":
        return self

    def __exit__(self, *unused) -> None:
        self.stop()


def banner(models: list[ModelSettings]) -> str:
    """Says what this server is, and how to start the real one for the first model."""
    name, base_path = models[0].name, models[0].base_path
    source = pathlib.Path(base_path).absolute()
    mount = shlex.quote(f"type=bind,source={source},target=/models/{name}")
    return (
        "kbert development server: speaks the TensorFlow Serving API, without TLS or passwords.\n"
        "The real one, where there is Docker:\n"
        f"  docker run -p 8500:8500 -p 8501:8501 --mount {mount} "
        f"-e MODEL_NAME={name} {_REAL_SERVER}"
    )


def serve_until_signal(models: list[ModelSettings], options: ServerOptions) -> None:
    """Serves until SIGTERM or SIGINT."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *unused: ended.set())

    print(banner(models), flush=True)
    with activity("loading the models"):
        server = Server(models, options)
    for model in models:
        print(
            f"serving {model.name} version {server.models.newest_version(model.name)}: "
            f"gRPC localhost:{server.port}, REST http://localhost:{server.rest_api_port}",
            flush=True,
        )
    print(f"a page to try them: http://localhost:{server.rest_api_port}/", flush=True)
    with at_rest():
        ended.wait()
    if not server.stop():
        # A kernel that does not end would crash where TensorFlow is taken apart below it.
        logging.warning("Some requests did not end within the grace period.")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
