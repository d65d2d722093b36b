r"""A development server: the TensorFlow Serving API on a machine without Docker.

    python -m export.development_server --model_base_path=served/sst2 --model_name=sst2

It is for trying and testing a model, not for production. It loads models as the real server does
(graph and session, op names checked first). It answers predict, status and metadata requests over
gRPC and REST, with the real server's error texts. But it has no batching, warm-up, monitoring,
classify or regress, and it listens on this machine only. The `docker run` line that is printed
first starts the real server.

Each folder MODEL_BASE_PATH/<integer>/ is a version. The newest version answers. When a newer one
appears, the server switches to it within a second, once it is loaded; if it cannot be loaded, the
old version continues to answer.
"""

import pathlib
import shlex
import signal
import threading

from absl import flags, logging

from kbert import command_line

from .server.grpc_api import start_grpc_server
from .server.rest_api import start_rest_server
from .server.servable import Servable

_HOST = "127.0.0.1"
_POLL_SECONDS = 1.0
_LAST_PORT = 65535
_REAL_SERVER = "tensorflow/serving:2.19.1"


class DevelopmentServer:
    """Serves one model over gRPC and REST until `stop`.

    Args:
        model_base_path: folder of version folders.
        model_name: the model's name in requests.
        port: gRPC port; 0 picks a free one.
        rest_api_port: REST port; 0 picks a free one.
        poll_seconds: how often to look for a newer version.

    Example:
        with DevelopmentServer("served/sst2", "sst2", port=0, rest_api_port=0) as server:
            predict_grpc(f"localhost:{server.port}", "sst2", {"text": np.array(["fine"])})
    """

    def __init__(
        self,
        model_base_path: str,
        model_name: str,
        port: int = 8500,
        rest_api_port: int = 8501,
        poll_seconds: float = _POLL_SECONDS,
    ):
        self.servable = Servable(model_base_path, model_name)
        self._grpc_server, self.port = start_grpc_server(self.servable, _HOST, port)
        try:
            self._rest_server, self.rest_api_port = start_rest_server(self.servable, _HOST, rest_api_port)
        except ValueError:
            self._grpc_server.stop(grace=None).wait()
            raise
        self._stopping = threading.Event()
        self._poller = threading.Thread(
            target=self._poll, args=(poll_seconds,), name="version_poll", daemon=True
        )
        self._poller.start()

    def __enter__(self) -> "DevelopmentServer":
        return self

    def __exit__(self, *unused) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends both APIs; gRPC requests that have begun get a second to end."""
        self._stopping.set()
        self._rest_server.shutdown()
        self._rest_server.server_close()
        self._grpc_server.stop(grace=1.0).wait()
        self._poller.join()

    def _poll(self, poll_seconds: float) -> None:
        while not self._stopping.wait(poll_seconds):
            try:
                self.servable.poll()
            except OSError as error:  # a folder may vanish while it is read; the next poll looks again
                logging.warning("Looking for versions failed: %s", error)


def banner(model_base_path: str, model_name: str) -> str:
    """Says what this server is, and how to start the real one."""
    source = pathlib.Path(model_base_path).absolute()
    mount = shlex.quote(f"type=bind,source={source},target=/models/{model_name}")
    return (
        "kbert development server: speaks the TensorFlow Serving API, not for production.\n"
        "The real one, where there is Docker:\n"
        f"  docker run -p 8500:8500 -p 8501:8501 --mount {mount} "
        f"-e MODEL_NAME={model_name} {_REAL_SERVER}"
    )


def serve_until_signal(model_base_path, model_name, port, rest_api_port) -> None:
    """Serves until SIGTERM or SIGINT."""
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *unused: ended.set())

    print(banner(model_base_path, model_name), flush=True)
    with DevelopmentServer(model_base_path, model_name, port, rest_api_port) as server:
        print(
            f"serving {model_name} version {server.servable.newest_version}: "
            f"gRPC localhost:{server.port}, REST http://localhost:{server.rest_api_port}",
            flush=True,
        )
        ended.wait()


def main(argv: list[str]) -> None:
    del argv
    flag_values = flags.FLAGS
    serve_until_signal(
        flag_values.model_base_path,
        flag_values.model_name,
        flag_values.port,
        flag_values.rest_api_port,
    )


def define_flags() -> None:
    # Inside a function because another script has a flag of the same name, and a test may import
    # both.
    flags.DEFINE_string("model_base_path", None, "Folder that holds one folder per version.")
    flags.DEFINE_string("model_name", None, "The model's name in requests.")
    for name, port, api in (("port", 8500, "gRPC"), ("rest_api_port", 8501, "REST")):
        text = f"{api} port; 0 picks a free one."
        flags.DEFINE_integer(name, port, text, lower_bound=0, upper_bound=_LAST_PORT)
    flags.mark_flags_as_required(["model_base_path", "model_name"])


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
