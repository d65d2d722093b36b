"""`DevelopmentServer` for Python programs, and the loop of the script."""

import os
import signal
import sys
import threading

from absl import logging

from kbert.cli.progress import activity

from .composition import Server, ServerOptions
from .models.model_settings import ModelSettings
from .real_server import real_server_command

_STOPPED_WHILE_LOADING = "stopped by SIGTERM while the models were loading\n"


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
    return (
        "kbert development server: speaks the TensorFlow Serving API, without TLS or passwords.\n"
        "The real one, where there is Docker:\n"
        f"  {real_server_command(models[0])}"
    )


def serve_until_signal(models: list[ModelSettings], options: ServerOptions) -> None:
    """Serves until SIGTERM or SIGINT.

    While the models load, which may take minutes, either ends the process instead: SIGINT as the command line
    handles it, SIGTERM with exit code 143. There is nothing to clean up yet. A call into TensorFlow that is
    under way ends first, as Python runs signal handlers between its own instructions.
    """
    signal.signal(signal.SIGTERM, _end_while_loading)
    print(banner(models), flush=True)
    with activity("loading the models"):
        server = Server(models, options)
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *unused: ended.set())
    for model in models:
        print(
            f"serving {model.name} version {server.models.newest_version(model.name)}: "
            f"gRPC localhost:{server.port}, REST http://localhost:{server.rest_api_port}",
            flush=True,
        )
    print(f"a page to try them: http://localhost:{server.rest_api_port}/", flush=True)
    with activity(None):
        ended.wait()
    if not server.stop():
        # A kernel that does not end would crash where TensorFlow is taken apart below it.
        logging.warning("Some requests did not end within the grace period.")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def _end_while_loading(number, frame) -> None:
    # A handler of its own: the first process of a container, as in `docker stop`, ignores SIGTERM otherwise.
    os.write(2, _STOPPED_WHILE_LOADING.encode())
    os._exit(128 + number)
