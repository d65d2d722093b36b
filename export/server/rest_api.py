"""TF Serving's REST API, answered by a `Servable`."""

import http.server
import json
import re
import threading
import traceback
import urllib.parse

from absl import logging
from google.protobuf import json_format
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
)

from ..gate.saved_model_session import DEFAULT_SIGNATURE, RequestError
from . import grpc_api, json_answer, json_request
from .servable import Servable

_VERSION = r"(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_PREDICT_PATH = re.compile(
    rf"/v1/models/(?P<name>[^/:]+){_VERSION}:(?P<method>classify|regress|predict)", re.IGNORECASE
)
_MODEL_PATH = re.compile(
    rf"/v1/models(?:/(?P<name>[^/:]+))?{_VERSION}(?:/(?P<metadata>metadata))?", re.IGNORECASE
)
_HTTP_STATUS = {
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


def start_rest_server(
    servable: Servable, host: str, port: int
) -> tuple[http.server.ThreadingHTTPServer, int]:
    """Starts the API in a thread and returns the server with its port; 0 picks a free one."""
    handler = type("Handler", (_RequestHandler,), {"servable": servable})
    try:
        server = http.server.ThreadingHTTPServer((host, port), handler)
    except OSError as error:
        raise ValueError(
            f"rest_api_port={port} cannot be opened on {host} ({error.strerror}). Expected a free "
            "port; pass another one, or 0 for any."
        ) from error
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.05}, name="rest_api", daemon=True
    ).start()
    return server, server.server_address[1]


def answer(servable: Servable, method: str, path: str, body: bytes = b"") -> bytes:
    """Answers one request, or raises `RequestError`.

    Args:
        servable: the model that answers.
        method: `GET` or `POST`.
        path: path of the URL, for example `/v1/models/sst2:predict`.
        body: JSON of a predict request.

    Returns:
        The JSON of the answer.
    """
    pattern = {"POST": _PREDICT_PATH, "GET": _MODEL_PATH}.get(method)
    match = pattern.fullmatch(path) if pattern else None
    if match is None:
        raise RequestError("INVALID_ARGUMENT", f"Malformed request: {method} {path}")

    spec = _model_spec(match)
    if method == "POST":
        if match["method"].lower() != "predict":
            raise RequestError(
                "UNIMPLEMENTED",
                f"The development server answers :predict only, not :{match['method']}; "
                "start the real one for it.",
            )
        return _predict(servable, spec, body)
    if not spec.name:
        raise RequestError("INVALID_ARGUMENT", "Missing model name in request.")
    return _metadata(servable, spec) if match["metadata"] else _status(servable, spec)


def _model_spec(match: re.Match) -> model_pb2.ModelSpec:
    spec = model_pb2.ModelSpec(name=urllib.parse.unquote(match["name"] or ""))
    if match["label"]:
        spec.version_label = urllib.parse.unquote(match["label"])
    if match["version"]:
        if int(match["version"]) >= 2**63:
            raise RequestError(
                "INVALID_ARGUMENT", f"Failed to convert version: {match['version']} to numeric."
            )
        spec.version.value = int(match["version"])
    return spec


def _predict(servable: Servable, spec: model_pb2.ModelSpec, body: bytes) -> bytes:
    document = json_request.parse_body(body)
    _, model = servable.find(spec.name, grpc_api.requested_version(spec))
    name = document.get("signature_name") or DEFAULT_SIGNATURE
    if name not in model.signatures:  # REST has its own message and status for this
        raise RequestError("INVALID_ARGUMENT", f'Serving signature name: "{name}" not found in signature def')
    row_form = json_request.is_row_form(document)
    inputs = json_request.read_inputs(document, model.signature(name))
    return json_answer.write_answer(model.run(name, inputs), row_form)


def _status(servable: Servable, spec: model_pb2.ModelSpec) -> bytes:
    request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec)
    return _json(_as_dict(grpc_api.model_status(servable, request)))


def _metadata(servable: Servable, spec: model_pb2.ModelSpec) -> bytes:
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        model_spec=spec, metadata_field=["signature_def"]
    )
    response = grpc_api.model_metadata(servable, request)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    response.metadata["signature_def"].Unpack(signatures)
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
    return json.dumps(value, indent=1, ensure_ascii=False).encode("utf-8")


class _RequestHandler(http.server.BaseHTTPRequestHandler):
    servable: Servable
    protocol_version = "HTTP/1.1"  # keeps a client's connection open between requests
    # One buffered write without Nagle's algorithm: head and body in two packets cost 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self):  # noqa: N802  the names are http.server's
        self._reply(b"")

    def do_POST(self):  # noqa: N802
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            self.close_connection = True  # the body's end is unknown
            error = RequestError("INVALID_ARGUMENT", "Content-Length header is missing")
            self._send(400, _error_body(error))
            return
        self._reply(self.rfile.read(int(length)))

    def log_message(self, format, *args):  # noqa: A002
        logging.debug("REST " + format, *args)

    def _reply(self, body: bytes) -> None:
        path = urllib.parse.urlsplit(self.path).path
        try:
            status, text = 200, answer(self.servable, self.command, path, body)
        except RequestError as error:
            status, text = _HTTP_STATUS.get(error.status, 500), _error_body(error)
        except Exception as error:  # also an error of this server: the client must not wait for ever
            logging.error("REST %s %s: %s", self.command, path, traceback.format_exc())
            status, text = 500, _error_body(RequestError("INTERNAL", str(error)))
        self._send(status, text)

    def _send(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def _error_body(error: RequestError) -> bytes:
    return json.dumps({"error": str(error)}, ensure_ascii=False).encode("utf-8", "replace")
