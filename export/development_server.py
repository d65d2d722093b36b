r"""A development server: the TensorFlow Serving API on a machine without Docker.

    kbert serve --model_base_path=served/sst2 --model_name=sst2

It loads models as the real server does (graph and session, op names checked first), and answers with the
real server's paths, codes and words: Predict, Classify, Regress, MultiInference, metadata, status and
reloading over gRPC, the same but for the last and MultiInference over REST, and
/monitoring/prometheus/metrics. The REST port also gives a page to try the models in a browser: /.
docs/serving.md tells where it differs. It listens on this machine only unless --host says otherwise; there
is no TLS and no password. The `docker run` line that is printed first starts the real server, for the
first model.

Each folder MODEL_BASE_PATH/<integer>/ is a version. The newest version answers. When a newer one
appears, the server loads it, replays its warm-up requests, and then switches to it; if it cannot be loaded,
the old version continues to answer. Several models, other versions and labels: --model_config_file.

SIGTERM lets running requests end within --grace_seconds, then ends with code 0; while the models
load, it ends the server with code 143, and Ctrl-C with code 130.
"""

from absl import flags

from kbert.cli import script
from kbert.extras import require

from .server.limits import Limits

_LAST_PORT = 65535


def main() -> None:
    require("serve", "kbert serve")
    _check_models()
    # TensorFlow loads here, after all checks that do not need it.
    from .server.running import serve_until_signal

    serve_until_signal(_models(), _options())


def _check_models() -> None:
    """Refuses a model that is given twice, half or not at all."""
    given = flags.FLAGS
    single = given.model_base_path is not None or given.model_name is not None
    if given.model_config_file and not single:
        return
    if given.model_config_file or given.model_base_path is None or given.model_name is None:
        raise ValueError(
            f"received --model_base_path={given.model_base_path}, --model_name={given.model_name} and "
            f"--model_config_file={given.model_config_file}; expected the first two, or the third alone."
        )


def _models() -> list:
    """The `ModelSettings` of every model."""
    from .server.models.model_settings import ModelSettings, read_config_file

    given = flags.FLAGS
    if not given.model_config_file:
        return [ModelSettings(given.model_name, given.model_base_path)]
    models = read_config_file(given.model_config_file)
    if not models:
        raise ValueError(f"model_config_file={given.model_config_file} lists no model; expected one or more.")
    return models


def _options():
    """The `ServerOptions` of the flags."""
    from .server.composition import ServerOptions
    from .server.models.loaded_version import BatchingSettings

    given = flags.FLAGS
    batching = BatchingSettings(given.max_batch_size, given.batch_timeout_micros)
    return ServerOptions(
        host=given.host,
        port=given.port,
        rest_api_port=given.rest_api_port,
        allowed_hosts=tuple(given.allowed_hosts),
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
    flags.DEFINE_list(
        "allowed_hosts", [], "More names that REST may be asked by while --host is this machine alone."
    )
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
    script.run(main)
