"""TF Serving's gRPC services, answered by a `Servable`."""

from concurrent import futures

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from ..gate.saved_model_session import DEFAULT_SIGNATURE, RequestError
from .servable import Servable

_NUM_THREADS = 8
_MAX_MESSAGE = 4000
_SIGNATURE_DEF = "signature_def"
# As in the real server, values are in the field of their dtype, not in `tensor_content`, because
# many clients read `outputs["probabilities"].float_val`.
_VALUE_FIELDS = {
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int32: "int_val",
    tf.int16: "int_val",
    tf.int8: "int_val",
    tf.uint8: "int_val",
    tf.int64: "int64_val",
    tf.uint32: "uint32_val",
    tf.uint64: "uint64_val",
    tf.bool: "bool_val",
    tf.string: "string_val",
}


def start_grpc_server(servable: Servable, host: str, port: int) -> tuple[grpc.Server, int]:
    """Starts both services and returns the server with its port; port 0 picks a free one."""
    server = grpc.server(
        futures.ThreadPoolExecutor(_NUM_THREADS),
        # Without so_reuseport=0 a second server would share a taken port and steal requests.
        options=[("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", -1)],
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(PredictionService(servable), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(ModelService(servable), server)
    try:
        bound_port = server.add_insecure_port(f"{host}:{port}")
    except RuntimeError as error:
        raise ValueError(
            f"port={port} cannot be opened for gRPC on {host}: is it taken? Expected a free port; "
            "pass another one, or 0 for any."
        ) from error
    server.start()
    return server, bound_port


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; the other methods answer `UNIMPLEMENTED`."""

    def __init__(self, servable: Servable):
        self._servable = servable

    def Predict(self, request, context):
        try:
            return predict(self._servable, request)
        except RequestError as error:
            _abort(context, error)

    def GetModelMetadata(self, request, context):
        try:
            return model_metadata(self._servable, request)
        except RequestError as error:
            _abort(context, error)


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus; reloading by request answers `UNIMPLEMENTED`."""

    def __init__(self, servable: Servable):
        self._servable = servable

    def GetModelStatus(self, request, context):
        try:
            return model_status(self._servable, request)
        except RequestError as error:
            _abort(context, error)


def predict(servable: Servable, request: predict_pb2.PredictRequest) -> predict_pb2.PredictResponse:
    """Answers a Predict request, or raises `RequestError`."""
    spec = request.model_spec
    version, model = servable.find(spec.name, requested_version(spec))
    # The signature comes first: a missing one is reported before any error of the inputs.
    model.signature(spec.signature_name)
    inputs = {name: _read_tensor(name, proto) for name, proto in request.inputs.items()}
    outputs = model.run(spec.signature_name, inputs, list(request.output_filter))

    response = predict_pb2.PredictResponse()
    response.model_spec.name = spec.name
    response.model_spec.signature_name = spec.signature_name or DEFAULT_SIGNATURE
    response.model_spec.version.value = version
    for name, array in outputs.items():
        response.outputs[name].CopyFrom(_write_tensor(np.asarray(array)))
    return response


def model_metadata(
    servable: Servable, request: get_model_metadata_pb2.GetModelMetadataRequest
) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """Answers a GetModelMetadata request, or raises `RequestError`."""
    if not request.metadata_field:
        raise RequestError(
            "INVALID_ARGUMENT", "GetModelMetadataRequest must specify at least one metadata_field"
        )
    for field in request.metadata_field:
        if field != _SIGNATURE_DEF:
            raise RequestError("INVALID_ARGUMENT", f"Metadata field {field} is not supported")

    version, model = servable.find(request.model_spec.name, requested_version(request.model_spec))
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, signature in model.signatures.items():
        signatures.signature_def[name].CopyFrom(signature)
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    response.model_spec.name = servable.name
    response.model_spec.version.value = version
    response.metadata[_SIGNATURE_DEF].Pack(signatures)
    return response


def model_status(
    servable: Servable, request: get_model_status_pb2.GetModelStatusRequest
) -> get_model_status_pb2.GetModelStatusResponse:
    """Answers a GetModelStatus request, or raises `RequestError`."""
    response = get_model_status_pb2.GetModelStatusResponse()
    spec = request.model_spec
    for status in servable.statuses(spec.name, requested_version(spec)):
        version_status = response.model_version_status.add(version=status.version)
        version_status.state = version_status.State.Value(status.state)
        version_status.status.error_code = tf.errors.__dict__[status.error_code]
        version_status.status.error_message = status.error_message
    return response


def requested_version(spec: model_pb2.ModelSpec) -> int | None:
    """Returns the version a request asks for; `None` means the newest."""
    if spec.version_label:  # labels come from the real server's models file; here there is none
        raise RequestError("INVALID_ARGUMENT", f"Unrecognized servable version label: {spec.version_label}")
    return spec.version.value if spec.HasField("version") else None


def _read_tensor(name: str, proto) -> np.ndarray:
    try:
        return tf.make_ndarray(proto)
    except (TypeError, ValueError) as error:
        raise RequestError("INVALID_ARGUMENT", f"tensor parsing error: {name}") from error


def _write_tensor(array: np.ndarray):
    dtype = tf.as_dtype(array.dtype)
    if dtype not in _VALUE_FIELDS:
        return tf.make_tensor_proto(array)
    proto = tf.make_tensor_proto(array.ravel()[:0], dtype=dtype, shape=[0])
    proto.tensor_shape.CopyFrom(tf.TensorShape(array.shape).as_proto())
    getattr(proto, _VALUE_FIELDS[dtype]).extend(array.ravel().tolist())
    return proto


def _abort(context, error: RequestError) -> None:
    # The message travels in a header, which clients limit to 8 KB.
    context.abort(grpc.StatusCode[error.status], error.message[:_MAX_MESSAGE])
