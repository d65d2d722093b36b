"""TensorFlow Serving's gRPC: Predict and GetModelMetadata."""

import contextlib
import functools
import logging as std_logging
from concurrent import futures

import grpc
from absl import logging
from tensorflow_serving.apis import get_model_metadata_pb2, predict_pb2, prediction_service_pb2_grpc

from ..gate.saved_model_session import RequestError
from .gate import is_key
from .metrics import Metrics
from .request import Request, invalid
from .service import Service
from .tensors import read_tensor, write_tensor

_MAX_ERROR = 600  # characters: the text travels in a header, of which clients take 8 KB
_LAST_PORT = 65535


def start_grpc_server(service, metrics, host: str, port: int, api_key: str | None, log: bool):
    """Starts the server and returns it with its port; port 0 picks a free one.

    Raises:
      ValueError: the port cannot be opened.
    """
    # Otherwise bytes of a client that are no message leave a traceback in the log.
    std_logging.getLogger("grpc._common").setLevel(std_logging.CRITICAL)
    server = grpc.server(
        # A thread for each request that is let in: what waits for one would be in no log and no time-out.
        futures.ThreadPoolExecutor(service.limits.max_pending, thread_name_prefix="grpc"),
        options=[
            ("grpc.so_reuseport", 0),  # otherwise a second server shares a taken port and steals requests
            ("grpc.max_receive_message_length", service.limits.max_message_bytes),
            ("grpc.max_send_message_length", -1),
        ],
        maximum_concurrent_rpcs=service.limits.max_pending,
    )
    servicer = PredictionService(service, metrics, api_key, log)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(servicer, server)
    try:
        if port > _LAST_PORT:  # gRPC would take it modulo 65536
            raise RuntimeError
        bound = server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError:
        raise ValueError(
            f"port={port} cannot be opened for gRPC on {host}; expected a port up to {_LAST_PORT} that is "
            "not in use, or 0 for any."
        ) from None
    server.start()
    return server, bound


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; the other methods are answered UNIMPLEMENTED, with a sentence."""

    def __init__(self, service: Service, metrics: Metrics, api_key: str | None, log: bool):
        self._service, self._metrics, self._api_key, self._log = service, metrics, api_key, log

    def Predict(self, request, context):
        with self._answering("Predict", request.model_spec, context) as own:
            model, limits = self._service.model, self._service.limits
            name, definition = model.signature(request.model_spec.signature_name)
            if unknown := set(request.output_filter) - set(definition.outputs):
                raise invalid(f"outputs {', '.join(sorted(unknown))[:200]} are not those of {name}.")
            inputs = {key: read_tensor(key, proto, limits) for key, proto in request.inputs.items()}
            outputs = self._service.predict(own, name, inputs, tuple(dict.fromkeys(request.output_filter)))
            written = {key: write_tensor(array) for key, array in outputs.items()}
            return predict_pb2.PredictResponse(model_spec=self._spec(name), outputs=written)

    def GetModelMetadata(self, request, context):
        with self._answering("GetModelMetadata", request.model_spec, context):
            if list(request.metadata_field) != ["signature_def"]:
                raise invalid("metadata_field must be signature_def.")
            response = get_model_metadata_pb2.GetModelMetadataResponse(model_spec=self._spec(""))
            response.metadata["signature_def"].Pack(self._service.model.signature_map)
            return response

    def _refuse(self, request, context, method):
        with self._answering(method, None, context):
            raise RequestError(
                "UNIMPLEMENTED",
                f"{method} is answered by TensorFlow Serving, which takes the same folder; kbert serve "
                "answers Predict and GetModelMetadata.",
            )

    Classify = functools.partialmethod(_refuse, method="Classify")
    Regress = functools.partialmethod(_refuse, method="Regress")
    MultiInference = functools.partialmethod(_refuse, method="MultiInference")

    def _spec(self, signature: str) -> dict:
        model = self._service.model
        return {"name": model.name, "signature_name": signature, "version": {"value": model.version}}

    @contextlib.contextmanager
    def _answering(self, method: str, spec, context):
        """Checks who asks for what (a `ModelSpec`, or None); counts and logs the request; gives an error its
        status."""
        left, limits = context.time_remaining(), self._service.limits
        waits = (limits.timeout_seconds, limits.timeout)
        if left is not None and left < limits.timeout_seconds:
            waits = (left, f"the {left:.3g} s that its client waits")
        own, status = Request(*waits), "OK"
        context.add_callback(own.give_up)  # the client has gone, or the answer is under way
        try:
            authorization = dict(context.invocation_metadata()).get("authorization", "")
            if self._api_key is not None and not is_key(authorization.encode(), self._api_key):
                raise RequestError("UNAUTHENTICATED", "Expected the metadata authorization: Bearer KEY.")
            if spec is not None:
                self._require_served(spec)
            yield own
        except Exception as error:
            status = error.status if isinstance(error, RequestError) else "INTERNAL"
            message = (
                str(error) if isinstance(error, RequestError) else "An error inside the server; see its log."
            )
            if status == "INTERNAL":
                logging.exception("%s", method)
            text = message.encode("utf-8", "replace").decode()[:_MAX_ERROR]
            context.abort(grpc.StatusCode[status], text)
        finally:
            self._metrics.answered(method, status, own)
            if self._log:
                logging.info(own.line(f"gRPC {method}", status))

    def _require_served(self, spec) -> None:
        model = self._service.model
        is_version = not spec.HasField("version") or spec.version.value == model.version
        if spec.name == model.name and is_version and not spec.HasField("version_label"):
            return
        version = spec.version_label[:100] or (spec.version.value if spec.HasField("version") else "")
        received = f"{spec.name[:100]!r} {version}".strip()
        raise RequestError("NOT_FOUND", f"{received} is not served; {model.name!r} {model.version} is.")
