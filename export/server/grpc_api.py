"""TF Serving's gRPC services, PredictionService and ModelService."""

from concurrent import futures

import grpc
import tensorflow as tf
from google.protobuf.message import DecodeError
from tensorflow_serving.apis import (
    model_management_pb2,
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)

from ..gate.saved_model_session import RequestError
from .answers import examples, model_info
from .answers.predict import predict
from .deadline import Deadline
from .models.model_settings import settings_of
from .service import Service

# Threads that are left to turn requests away while all others wait.
_SPARE_THREADS = 8
# The message travels in a header, where each byte outside ASCII takes three; clients limit headers to 8 KB.
_MAX_MESSAGE_BYTES = 2000
_LAST_PORT = 65535
_NO_MESSAGE = object()
_FAR_FUTURE_SECONDS = 1e6


def start_grpc_server(service: Service, host: str, port: int) -> tuple[grpc.Server, int]:
    """Starts both services and returns the server with its port; port 0 picks a free one.

    Raises:
        ValueError: the port cannot be opened.
    """
    limits = service.limits
    num_threads = limits.max_pending + _SPARE_THREADS
    server = grpc.server(
        futures.ThreadPoolExecutor(num_threads, thread_name_prefix="grpc"),
        options=[
            ("grpc.so_reuseport", 0),  # otherwise a second server shares a taken port and steals requests
            ("grpc.max_receive_message_length", limits.max_message_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_allowed_incoming_connections", limits.max_connections),
            ("grpc.server_handshake_timeout_ms", int(1000 * limits.head_seconds)),
        ],
        interceptors=[_Parsing()],
        # What waits for a thread has not been read yet; beyond this it is refused unread.
        maximum_concurrent_rpcs=8 * num_threads,
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(PredictionService(service), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(ModelService(service), server)
    bound_port = _open(server, host, port)
    server.start()
    return server, bound_port


def _open(server: grpc.Server, host: str, port: int) -> int:
    if not 0 <= port <= _LAST_PORT:  # gRPC would take it modulo 65536
        raise ValueError(f"port={port} is not a port; expected 0 to {_LAST_PORT}, 0 for any free one.")
    try:
        return server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError as error:
        raise ValueError(
            f"port={port} cannot be opened for gRPC on {host}: is it taken? Expected a free port; "
            "pass another one, or 0 for any."
        ) from error


class _Parsing(grpc.ServerInterceptor):
    """Refuses bytes that are no message. gRPC does so too, but writes a traceback to the log for each."""

    def intercept_service(self, continuation, handler_call_details):
        handler = continuation(handler_call_details)
        if handler is None:  # an unknown method
            return None

        def parse(message: bytes):
            try:
                return handler.request_deserializer(message)
            except DecodeError:
                return _NO_MESSAGE

        def answer(request, context):
            if request is _NO_MESSAGE:
                # As gRPC in C++, and so the real server.
                context.abort(grpc.StatusCode.INTERNAL, "Failed to parse the request.")
            return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(answer, parse, handler.response_serializer)


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict, Classify, Regress, MultiInference and GetModelMetadata."""

    def __init__(self, service: Service):
        self._service = service

    def Predict(self, request, context):
        return self._infer("Predict", predict, request, request, context)

    def Classify(self, request, context):
        return self._infer("Classify", examples.classify, request, request, context)

    def Regress(self, request, context):
        return self._infer("Regress", examples.regress, request, request, context)

    def MultiInference(self, request, context):
        first = request.tasks[0] if request.tasks else request
        return self._infer("MultiInference", examples.multi_inference, first, request, context)

    def GetModelMetadata(self, request, context):
        try:
            with self._service.request("GetModelMetadata", "GRPC", request.model_spec.name):
                return model_info.model_metadata(self._service.models, request)
        except RequestError as error:
            _abort(context, error)

    def _infer(self, api, answer, asked, request, context):
        """Answers with the version that the model spec of `asked` names."""
        service = self._service
        spec = getattr(asked, "model_spec", None)
        try:
            with (
                service.request(api, "GRPC", spec.name if spec else ""),
                service.admission.enter(request.ByteSize()),
            ):
                if spec is None or not asked.HasField("model_spec"):
                    raise RequestError("INVALID_ARGUMENT", "Missing ModelSpec")
                deadline = _deadline(context)
                return answer(service.models.find(spec), request, service.limits, deadline)
        except RequestError as error:
            _abort(context, error)


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus and HandleReloadConfigRequest."""

    def __init__(self, service: Service):
        self._service = service

    def GetModelStatus(self, request, context):
        try:
            with self._service.request("GetModelStatus", "GRPC", request.model_spec.name):
                return model_info.model_status(self._service.models, request)
        except RequestError as error:
            _abort(context, error)

    def HandleReloadConfigRequest(self, request, context):
        response = model_management_pb2.ReloadConfigResponse()
        try:
            with self._service.request("HandleReloadConfigRequest", "GRPC", ""):
                if request.config.WhichOneof("config"):  # an empty one asks nothing
                    self._service.models.reload(settings_of(request.config))
        except RequestError as error:
            _abort(context, error)
        response.status.error_code = tf.errors.OK
        return response


def _deadline(context) -> Deadline:
    seconds = context.time_remaining()
    # A request without a deadline has one in the far future, which no wait takes as a number.
    return Deadline(None if seconds is None or seconds > _FAR_FUTURE_SECONDS else seconds)


def _abort(context, error: RequestError) -> None:
    text = error.message.encode("utf-8", "replace")[:_MAX_MESSAGE_BYTES].decode("utf-8", "ignore")
    context.abort(grpc.StatusCode[error.status], text)
