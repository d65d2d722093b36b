r"""A development server: the TensorFlow Serving API on a machine without Docker.

    python -m export.development_server --model_base_path=served/sst2 --model_name=sst2

It loads models as the real server does (graph and session, op names checked first), and answers with the
real server's paths, codes and words: Predict, Classify, Regress, MultiInference, metadata, status and
reloading over gRPC, the same but for the last and MultiInference over REST, and
/monitoring/prometheus/metrics. The REST port also gives a page to try the models in a browser: /.
docs/serving.md tells where it differs. It listens on this machine only unless --host says otherwise; there
is no TLS and no password. The `docker run` line that is printed first starts the real server.

Each folder MODEL_BASE_PATH/<integer>/ is a version. The newest version answers. When a newer one
appears, the server loads it, replays its warm-up requests, and then switches to it; if it cannot be loaded,
the old version continues to answer. Several models, other versions and labels: --model_config_file.

SIGTERM lets running requests end within --grace_seconds, then ends with code 0.
"""

import os
import pathlib
import shlex
import signal
import sys
import threading

from absl import flags, logging

from kbert import command_line

from .server.composition import Server, ServerOptions
from .server.limits import Limits
from .server.models.loaded_version import BatchingSettings
from .server.models.model_settings import ModelSettings, read_config_file

_LAST_PORT = 65535
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
    server = Server(models, options)
    for model in models:
        print(
            f"serving {model.name} version {server.models.newest_version(model.name)}: "
            f"gRPC localhost:{server.port}, REST http://localhost:{server.rest_api_port}",
            flush=True,
        )
    print(f"a page to try them: http://localhost:{server.rest_api_port}/", flush=True)
    ended.wait()
    if not server.stop():
        # A kernel that does not end would crash where TensorFlow is taken apart below it.
        logging.warning("Some requests did not end within the grace period.")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def main(argv: list[str]) -> None:
    del argv
    serve_until_signal(_models(), _options())


def _models() -> list[ModelSettings]:
    given = flags.FLAGS
    single = given.model_base_path is not None or given.model_name is not None
    if given.model_config_file and not single:
        models = read_config_file(given.model_config_file)
        if not models:
            raise ValueError(
                f"model_config_file={given.model_config_file} lists no model; expected one or more."
            )
        return models
    if given.model_config_file or given.model_base_path is None or given.model_name is None:
        raise ValueError(
            f"received --model_base_path={given.model_base_path}, --model_name={given.model_name} and "
            f"--model_config_file={given.model_config_file}; expected the first two, or the third alone."
        )
    return [ModelSettings(given.model_name, given.model_base_path)]


def _options() -> ServerOptions:
    given = flags.FLAGS
    batching = BatchingSettings(given.max_batch_size, given.batch_timeout_micros)
    return ServerOptions(
        host=given.host,
        port=given.port,
        rest_api_port=given.rest_api_port,
        poll_seconds=given.file_system_poll_wait_seconds,
        limits=Limits(
            max_message_bytes=given.max_message_bytes,
            max_text_bytes=given.max_text_bytes,
            max_elements=given.max_elements,
            max_connections=given.max_connections,
            max_pending=given.max_pending,
            max_pending_bytes=given.max_pending_bytes,
            rest_timeout_seconds=given.rest_api_timeout_in_ms / 1000,
            grace_seconds=given.grace_seconds,
        ),
        batching=batching if given.enable_batching else None,
        num_parallel_runs=given.num_parallel_runs,
    )


def define_flags() -> None:
    # Inside a function because another script has a flag of the same name, and a test may import
    # both.
    flags.DEFINE_string("model_base_path", None, "Folder that holds one folder per version.")
    flags.DEFINE_string("model_name", None, "The model's name in requests.")
    flags.DEFINE_string(
        "model_config_file", None, "Instead of the two above: the real server's model config, as text."
    )
    flags.DEFINE_string("host", "127.0.0.1", "Address to listen on; 0.0.0.0 lets other machines ask.")
    for name, port, api in (("port", 8500, "gRPC"), ("rest_api_port", 8501, "REST")):
        text = f"{api} port; 0 picks a free one."
        flags.DEFINE_integer(name, port, text, lower_bound=0, upper_bound=_LAST_PORT)
    flags.DEFINE_float(
        "file_system_poll_wait_seconds", 1.0, "How often to look for versions.", lower_bound=0.01
    )
    flags.DEFINE_bool("enable_batching", False, "Run requests that come together in one batch.")
    flags.DEFINE_integer("max_batch_size", 64, "Texts of a batch.", lower_bound=1)
    flags.DEFINE_integer("batch_timeout_micros", 1000, "How long a batch waits for others.", lower_bound=0)
    flags.DEFINE_integer("num_parallel_runs", 0, "Runs at a time; 0 means one per core.", lower_bound=0)
    flags.DEFINE_integer("rest_api_timeout_in_ms", 30000, "How long a REST request may run.", lower_bound=1)
    flags.DEFINE_float(
        "grace_seconds", 30.0, "How long running requests may go on at the end.", lower_bound=0
    )
    limits = Limits()
    for name, text in (
        ("max_message_bytes", "Size of one request."),
        ("max_text_bytes", "Length of one text, in bytes of UTF-8."),
        ("max_elements", "Values of one tensor."),
        ("max_connections", "Open connections of each API."),
        ("max_pending", "Requests that run or wait; more are answered UNAVAILABLE or 503 at once."),
        ("max_pending_bytes", "Size of all of these together."),
    ):
        flags.DEFINE_integer(name, getattr(limits, name), text, lower_bound=1)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
