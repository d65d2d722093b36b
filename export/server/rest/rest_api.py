"""TF Serving's REST paths, answered by the functions that answer gRPC."""

import json
import re
import urllib.parse
from collections.abc import Callable

from google.protobuf import json_format
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    regression_pb2,
)

from ...gate.saved_model_session import DEFAULT_SIGNATURE, RequestError
from ..answers import examples, model_info
from ..answers.tensor_protos import check_texts
from ..deadline import Deadline
from ..service import Service
from . import json_answer, json_examples, json_request

_VERSION = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_PREDICTION_PATH = re.compile(
    rf"/v1/models/(?P<name>[^/:]+){_VERSION}:(?P<method>classify|regress|predict)", re.IGNORECASE | re.ASCII
)
_MODEL_PATH = re.compile(
    rf"/v1/models(?:/(?P<name>[^/:]+))?{_VERSION}(?:/(?P<metadata>metadata))?", re.IGNORECASE | re.ASCII
)
_MAX_VERSION = 2**63 - 1
HTTP_STATUS = {
    "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400,
    "OUT_OF_RANGE": 400,
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": 404,
    "ABORTED": 409,
    "ALREADY_EXISTS": 409,
    "RESOURCE_EXHAUSTED": 429,
    "UNIMPLEMENTED": 501,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": 504,
}


def answer(service: Service, method: str, path: str, body: bytes = b"") -> bytes:
    """Answers one request.

    Args:
        service: the models that answer.
        method: `GET` or `POST`; for others there is nothing.
        path: path of the URL, for example `/v1/models/sst2:predict`, percent signs not yet decoded.
        body: JSON of a request.

    Returns:
        The JSON of the answer.

    Raises:
        RequestError: in the words of the real server.
    """
    pattern = {"POST": _PREDICTION_PATH, "GET": _MODEL_PATH}.get(method)
    match = pattern.fullmatch(path) if pattern else None
    if match is None:
        if not path.lower().startswith("/v1/"):
            raise RequestError("NOT_FOUND", f"No such path: {path}; expected /v1/models/NAME:predict")
        raise RequestError("INVALID_ARGUMENT", f"Malformed request: {method} {path}")

    spec = _model_spec(match)
    if method == "POST":
        api = match["method"].capitalize()
        with service.request(api, "REST", spec.name):
            return _METHODS[api](service, spec, body)
    api = "GetModelMetadata" if match["metadata"] else "GetModelStatus"
    with service.request(api, "REST", spec.name):
        if not spec.name:
            raise RequestError("INVALID_ARGUMENT", "Missing model name in request.")
        return _metadata(service, spec) if match["metadata"] else _status(service, spec)


def error_body(error: RequestError) -> bytes:
    """Returns the body that tells an error."""
    return _json({"error": error.message})


def _model_spec(match: re.Match) -> model_pb2.ModelSpec:
    spec = model_pb2.ModelSpec(name=urllib.parse.unquote(match["name"] or ""))
    if match["label"]:
        spec.version_label = urllib.parse.unquote(match["label"])
    if match["version"]:
        digits = match["version"].lstrip("0") or "0"
        if len(digits) > 19 or int(digits) > _MAX_VERSION:
            raise RequestError(
                "INVALID_ARGUMENT", f"Failed to convert version: {match['version'][:100]} to numeric."
            )
        spec.version.value = int(digits)
    return spec


def _predict(service: Service, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
    document = json_request.parse_body(body)
    loaded = service.models.find(spec)
    name = document.get("signature_name") or DEFAULT_SIGNATURE
    if name not in loaded.signatures:  # REST has its own message and status for this
        raise RequestError("INVALID_ARGUMENT", f'Serving signature name: "{name}" not found in signature def')
    row_form = json_request.is_row_form(document)
    inputs = json_request.read_inputs(document, loaded.signature(name), service.limits.max_elements)
    del document  # a tree of Python objects is many times as large as its arrays
    for input_name, array in inputs.items():
        if array.dtype == object:
            check_texts(input_name, array.ravel(), service.limits)
    deadline = Deadline(service.limits.rest_timeout_seconds)
    return json_answer.write_answer(loaded.run("Predict", name, inputs, deadline), row_form)


def _classify(service: Service, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
    request = classification_pb2.ClassificationRequest(model_spec=spec)
    json_examples.read_examples(body, request)
    deadline = Deadline(service.limits.rest_timeout_seconds)
    response = examples.classify(service.models.find(spec), request, service.limits, deadline)
    return json_answer.write_classifications(response.result)


def _regress(service: Service, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
    request = regression_pb2.RegressionRequest(model_spec=spec)
    json_examples.read_examples(body, request)
    deadline = Deadline(service.limits.rest_timeout_seconds)
    response = examples.regress(service.models.find(spec), request, service.limits, deadline)
    return json_answer.write_regressions(response.result)


_METHODS: dict[str, Callable] = {"Predict": _predict, "Classify": _classify, "Regress": _regress}


def _status(service: Service, spec: model_pb2.ModelSpec) -> bytes:
    request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec)
    return _json(_as_dict(model_info.model_status(service.models, request)))


def _metadata(service: Service, spec: model_pb2.ModelSpec) -> bytes:
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        model_spec=spec, metadata_field=[model_info.SIGNATURE_DEF]
    )
    response = model_info.model_metadata(service.models, request)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata[model_info.SIGNATURE_DEF].Unpack(signatures)
    # The real server concatenates the two, which is why signature_def occurs twice.
    return _json(
        {
            "model_spec": _as_dict(response.model_spec),
            "metadata": {"signature_def": _as_dict(signatures)},
        }
    )


def _as_dict(message) -> dict:
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _json(value) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8", "replace")
