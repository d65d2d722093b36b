"""Requests over gRPC."""

import grpc
import numpy as np

from . import messages
from .failures import UNAVAILABLE, RequestFailed
from .model_signatures import ModelSignature, Tensor
from .tensors import from_proto, known_dtype, to_proto

_SERVICE = "/tensorflow.serving.PredictionService/"
_SIGNATURE_DEF = "signature_def"
# What gRPC says where nobody was reached; a server that answers UNAVAILABLE has words of its own.
_NOT_REACHED = ("failed to connect", "connection refused", "resolution", "connect failed")


class GrpcTransport:
    """One channel to a server.

    Args:
        server: `host:port`; TF Serving's gRPC port is 8500.
    """

    name = "gRPC"

    def __init__(self, server: str):
        options = [("grpc.max_receive_message_length", -1)]  # gRPC clients stop at 4 MB otherwise
        # Tries a server that was not there sooner than the usual seconds; `Retries` waits between attempts.
        options += [("grpc.initial_reconnect_backoff_ms", 100), ("grpc.min_reconnect_backoff_ms", 100)]
        self._channel = grpc.insecure_channel(server, options)
        self._predict = self._method("Predict", messages.PredictRequest, messages.PredictResponse)
        self._metadata = self._method(
            "GetModelMetadata", messages.GetModelMetadataRequest, messages.GetModelMetadataResponse
        )

    def predict(
        self, spec, inputs: dict[str, np.ndarray], outputs: dict[str, Tensor], seconds: float
    ) -> dict[str, np.ndarray]:
        """Asks one signature.

        Args:
            spec: the `ModelSpec`.
            inputs: input name -> array.
            outputs: the outputs of the signature, by the metadata.
            seconds: how long to wait.

        Raises:
            RequestFailed: the server refuses, is not there, or is late.
        """
        del outputs  # tensors bring their dtypes
        request = messages.PredictRequest(model_spec=spec)
        for name, array in inputs.items():
            request.inputs[name].CopyFrom(to_proto(array))
        response = self._call(self._predict, request, seconds)
        return {name: from_proto(proto) for name, proto in sorted(response.outputs.items())}

    def signatures(self, spec, seconds: float) -> list[ModelSignature]:
        """Lists the signatures of a model; raises `RequestFailed` as `predict` does."""
        request = messages.GetModelMetadataRequest(model_spec=spec, metadata_field=[_SIGNATURE_DEF])
        response = self._call(self._metadata, request, seconds)
        packed = response.metadata[_SIGNATURE_DEF].value
        found = messages.SignatureDefMap.FromString(packed).signature_def
        return [
            ModelSignature(name, _tensors(one.inputs), _tensors(one.outputs))
            for name, one in sorted(found.items())
            if not name.startswith("__")
        ]

    def close(self) -> None:
        """Closes the channel."""
        self._channel.close()

    def _method(self, name: str, request, response):
        return self._channel.unary_unary(
            _SERVICE + name,
            request_serializer=request.SerializeToString,
            response_deserializer=response.FromString,
        )

    def _call(self, method, request, seconds: float):
        try:
            return method(request, timeout=seconds)
        except grpc.RpcError as error:
            status, details = error.code().name, error.details() or ""
            reached = not (status == UNAVAILABLE and any(words in details.lower() for words in _NOT_REACHED))
            raise RequestFailed(status, details, reached) from error


def _tensors(infos) -> dict[str, Tensor]:
    return {
        name: Tensor(
            known_dtype(info.dtype),
            None
            if info.tensor_shape.unknown_rank
            else tuple(None if dim.size < 0 else dim.size for dim in info.tensor_shape.dim),
        )
        for name, info in infos.items()
    }
