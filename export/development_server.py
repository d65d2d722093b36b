r"""Script: serves a run, a checkpoint or an export: REST, gRPC, OpenAI's API, and a page to try it.

    kbert serve runs/reviews
    kbert serve serving/reviews --api_key=SECRET
    kbert serve hf://org/name --rest_api_port=8080

It takes a folder of exported versions (the newest is served), one version, a run, or any checkpoint that
`kbert.load` takes. REST: TensorFlow Serving's :predict, status and metadata; /v1/embeddings, /v1/models,
/embed, /rerank, /predict, /similarity, /tokenize; KServe's /v2/models/NAME/infer; /health, /metrics, /docs; a
page to try the model at /. gRPC: TensorFlow Serving's Predict and GetModelMetadata. It listens on this
machine only unless --host says otherwise; there is no TLS.

Without a path it serves /opt/ml/model, where SageMaker unpacks a model, on port 8080 of all addresses; the
paths that SageMaker asks are /ping and /invocations. On Vertex AI, port and paths are those of its variables
AIP_HTTP_PORT, AIP_HEALTH_ROUTE, AIP_PREDICT_ROUTE. Several models, versions that are swapped while it runs,
Classify and Regress are TensorFlow Serving's.

SIGTERM lets running requests end within --grace_seconds, then ends with code 0; while the model loads, it
ends the server with code 143, and Ctrl-C with code 130.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from kbert.bounds import Bounds
from kbert.checkpoints.near_models import models_around
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.extras import require
from kbert.files.version_folders import version_folder
from kbert.inference import loading

from .server import gate, running
from .server.limits import Limits
from .server.vertex_routes import VertexRoutes

POSITIONS = ("model_base_path",)  # of arguments without a flag
_KEY_VARIABLE = "KBERT_API_KEY"
_HOST, _REST_API_PORT = "127.0.0.1", 8501  # the port as of TensorFlow Serving
# SageMaker starts a container as `IMAGE serve`, without further arguments.
# https://docs.aws.amazon.com/sagemaker/latest/dg/your-algorithms-inference-code.html
_CONTAINER_MODEL, _CONTAINER_PORT = "/opt/ml/model", 8080
_CONTAINER_HOST = "0.0.0.0"  # noqa: S104  # SageMaker asks from outside of the container
_Port = Annotated[int, Bounds(0, 65535)]


def serve(
    model_base_path: str | None = None,
    model_name: str | None = None,
    host: str | None = None,
    allowed_hosts: Sequence[str] = (),
    cors_origins: Sequence[str] = (),
    port: _Port = 8500,
    rest_api_port: _Port | None = None,
    api_key: str | None = None,
    log_requests: bool = True,
    rest_api_timeout_in_ms: Annotated[int, Bounds(1)] = 30000,
    **limits,
) -> None:
    """Serves a model until a signal.

    Args:
      model_base_path: what to serve; may also be given without a flag, as above. By default /opt/ml/model,
        SageMaker's folder, if it is there.
      model_name: the model's name in requests; by default that of its folder.
      host: address to listen on; 0.0.0.0 for requests from other machines. By default 127.0.0.1, or
        0.0.0.0 if `model_base_path` is left out.
      allowed_hosts: host names that REST requests may ask by, beside localhost and IP addresses. By default
        none while `host` is this machine alone, else any.
      cors_origins: pages in a browser that may ask, by their origins, as in https://app.example; * for all of
        them.
      port: port of gRPC; 0 picks a free one.
      rest_api_port: port of REST; 0 picks a free one. By default Vertex AI's AIP_HTTP_PORT, else 8501,
        or 8080 if `model_base_path` is left out.
      api_key: refuse requests without this key; by default $KBERT_API_KEY.
      log_requests: log a line for each request: its texts, tokens and times.
      rest_api_timeout_in_ms: milliseconds that a request may take.
      **limits: the fields of `Limits`.

    Raises:
      ValueError: before TensorFlow loads, for what cannot be served and for a limit that is none.
    """
    require("serve", "kbert serve")
    default_host, default_port = _HOST, _REST_API_PORT
    if model_base_path is None:
        if not os.path.isdir(_CONTAINER_MODEL):
            raise ValueError("expected what to serve, for example: kbert serve runs/reviews")
        model_base_path, default_host, default_port = _CONTAINER_MODEL, _CONTAINER_HOST, _CONTAINER_PORT
    _require_model(model_base_path)
    api_key = os.environ.get(_KEY_VARIABLE) if api_key is None else api_key
    gate.require_key(api_key, f"api_key, or the variable {_KEY_VARIABLE},")
    bounds = Limits(**limits, timeout_seconds=rest_api_timeout_in_ms / 1000)
    if rest_api_port is None:
        vertex_port = VertexRoutes.from_environment().port
        rest_api_port = default_port if vertex_port is None else vertex_port
    # TensorFlow loads here, after all checks that do not need it.
    running.serve_until_signal(
        model_base_path,
        model_name,
        port=port,
        rest_api_port=rest_api_port,
        host=default_host if host is None else host,
        allowed_hosts=tuple(allowed_hosts),
        api_key=api_key,
        limits=bounds,
        log=log_requests,
        cors_origins=tuple(cors_origins),
    )


def _require_model(path: str) -> None:
    """Raises ValueError for what is no model, or not one that can be served."""
    kind = os.path.splitext(path)[1].lower()
    if kind in (".tflite", ".task"):
        raise ValueError(
            f"{path} is a model for phones, and this server runs TensorFlow's; serve the run or the "
            'checkpoint that it was made from. In Python, kbert.load("FILE.tflite") answers with such a file.'
        )
    if version_folder(Path(path)) is None:
        try:
            loading.open_model(path)  # raises an error for what is no model either
        except ValueError as error:
            exports = models_around(Path(path), lambda folder: version_folder(folder) is not None)
            if exports and exports not in str(error):
                raise ValueError(f"{error}{exports}") from None
            raise


def define_flags() -> None:
    declare_flags(serve)
    declare_flags(Limits)


def main() -> None:
    serve(**flag_values(serve), **flag_values(Limits))


if __name__ == "__main__":
    define_flags()
    script.run(main, positions=POSITIONS)
