r"""Script: serves a run, a checkpoint or an export: REST, gRPC, OpenAI's API, and a page to try it.

    kbert serve runs/reviews
    kbert serve serving/reviews --api_key=SECRET
    kbert serve hf://org/name --rest_api_port=8080

It takes a folder of exported versions (the newest is served), one version, a run, or any checkpoint that
`kbert.load` takes. REST: TensorFlow Serving's :predict, status and metadata; /v1/embeddings, /v1/models,
/embed, /rerank, /predict, /similarity, /tokenize; KServe's /v2/models/NAME/infer; /health, /metrics, /docs; a
page to try the model at /. gRPC: TensorFlow Serving's Predict and GetModelMetadata. It listens on this
machine only unless --host says otherwise; there is no TLS.

On Vertex AI, port and paths are those of its variables AIP_HTTP_PORT, AIP_HEALTH_ROUTE, AIP_PREDICT_ROUTE;
SageMaker's paths are /ping and /invocations. Several models, versions that are swapped while it runs,
Classify and Regress are TensorFlow Serving's.

SIGTERM lets running requests end within --grace_seconds, then ends with code 0; while the model loads, it
ends the server with code 143, and Ctrl-C with code 130.
"""

import os

from absl import flags

from kbert.checkpoints.near_models import did_you_mean
from kbert.cli import script
from kbert.extras import require

from .server.limits import Limits
from .server.vertex_routes import VertexRoutes

POSITIONS = ("model_base_path",)  # of arguments without a flag
_LAST_PORT = 65535
_KEY_VARIABLE = "KBERT_API_KEY"
# Fields of `Limits` -> what --help says of the flags with their names.
_SIZES = {
    "max_batch_tokens": "Most tokens of requests that run together; a larger request is split.",
    "max_message_bytes": "Most bytes of one request.",
    "max_text_bytes": "Most bytes of one text, in UTF-8.",
    "max_texts": "Most texts of one request.",
    "max_elements": "Most elements of one tensor of a request.",
    "max_answer_bytes": "Most bytes of the tensors of one response.",
    "max_connections": "Most open connections of REST.",
    "max_pending": "Most requests that run or wait; further ones get 503 or RESOURCE_EXHAUSTED at once.",
    "max_pending_bytes": "Most bytes of all REST requests together.",
}


def main() -> None:
    values = flags.FLAGS
    require("serve", "kbert serve")
    if values.model_base_path is None:
        raise ValueError("expected what to serve, for example: kbert serve runs/reviews")
    path = values.model_base_path
    _require_model(path)
    if "://" not in path and (os.sep in path or path.startswith(".")) and not os.path.exists(path):
        near = did_you_mean(path)
        raise ValueError(f"{path} does not exist; expected an export, a run or a checkpoint.{near}")
    if not os.path.exists(path):
        from kbert.checkpoints.formats import detect_format, local_path  # late: they bring NumPy along

        detect_format(local_path(path))  # raises an error for what is no name of a model either
    limits = Limits(
        **{name: getattr(values, name) for name in _SIZES},
        timeout_seconds=values.rest_api_timeout_in_ms / 1000,
        grace_seconds=values.grace_seconds,
    )
    rest_api_port = _rest_api_port(VertexRoutes.from_environment().port)
    # TensorFlow loads here, after all checks that do not need it.
    from .server.running import serve_until_signal

    serve_until_signal(
        values.model_base_path,
        values.model_name,
        port=values.port,
        rest_api_port=rest_api_port,
        host=values.host,
        allowed_hosts=tuple(values.allowed_hosts),
        api_key=values.api_key or os.environ.get(_KEY_VARIABLE),
        limits=limits,
        log=values.log_requests,
        cors_origins=tuple(values.cors_origins),
    )


def _require_model(path: str) -> None:
    """Raises ValueError for what is a model, but not one that can be served."""
    kind = os.path.splitext(path)[1].lower()
    if kind in (".tflite", ".task"):
        raise ValueError(
            f"{path} is a model for phones, and this server runs TensorFlow's; serve the run or the "
            'checkpoint that it was made from. In Python, kbert.load("FILE.tflite") answers with such a file.'
        )


def _rest_api_port(vertex_port: int | None):
    """The flag where it is given, otherwise the port that Vertex AI names, otherwise the flag's default."""
    flag = flags.FLAGS["rest_api_port"]
    return flag.value if flag.present or vertex_port is None else vertex_port


def define_flags() -> None:
    # Inside a function because another script has a flag of the same name, and a test may import
    # both.
    flags.DEFINE_string("model_base_path", None, "What to serve; may also be given without a flag, as above.")
    flags.DEFINE_string("model_name", None, "The model's name in requests; by default that of its folder.")
    flags.DEFINE_string(
        "host", "127.0.0.1", "Address to listen on; 0.0.0.0 for requests from other machines."
    )
    flags.DEFINE_list(
        "allowed_hosts",
        [],
        "Further host names in the URLs of REST requests, while --host is this machine alone.",
    )
    flags.DEFINE_list(
        "cors_origins",
        [],
        "Pages in a browser that may ask, by their origins, as in https://app.example; * for all of them.",
    )
    for name, port, api in (("port", 8500, "gRPC"), ("rest_api_port", 8501, "REST")):
        text = f"{api} port; 0 picks a free one."
        flags.DEFINE_integer(name, port, text, lower_bound=0, upper_bound=_LAST_PORT)
    flags.DEFINE_string("api_key", None, f"Refuse requests without this key; by default ${_KEY_VARIABLE}.")
    flags.DEFINE_bool("log_requests", True, "Log a line for each request: its texts, tokens and times.")
    flags.DEFINE_integer(
        "rest_api_timeout_in_ms", 30000, "Milliseconds that a request may take.", lower_bound=1
    )
    flags.DEFINE_float(
        "grace_seconds", 30.0, "Seconds that running requests may go on after SIGTERM.", lower_bound=0
    )
    for name, text in _SIZES.items():
        flags.DEFINE_integer(name, getattr(Limits(), name), text, lower_bound=1)


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
