"""Predict: named tensors in, named tensors out."""

import numpy as np
from tensorflow_serving.apis import predict_pb2

from ...gate.saved_model_session import DEFAULT_SIGNATURE
from ..deadline import Deadline
from ..limits import Limits
from .tensor_protos import read_tensor, write_tensor


def predict(
    loaded, request: predict_pb2.PredictRequest, limits: Limits, deadline: Deadline
) -> predict_pb2.PredictResponse:
    """Answers a Predict request.

    Args:
        loaded: the `LoadedVersion` that answers.
        request: its model spec tells the signature; the caller has looked up the version.
        limits: the bounds of the server.
        deadline: when the answer comes too late.

    Raises:
        RequestError: in the words of the real server.
    """
    spec = request.model_spec
    # The signature comes first: a missing one is reported before any error of the inputs.
    loaded.signature(spec.signature_name)
    inputs = {name: read_tensor(name, proto, limits) for name, proto in request.inputs.items()}
    outputs = loaded.run("Predict", spec.signature_name, inputs, deadline, list(request.output_filter))

    response = predict_pb2.PredictResponse()
    fill_model_spec(response.model_spec, spec, loaded.version)
    for name, array in outputs.items():
        response.outputs[name].CopyFrom(write_tensor(np.asarray(array)))
    return response


def fill_model_spec(answered, asked, version: int) -> None:
    """Writes which version and signature answered."""
    answered.name = asked.name
    answered.signature_name = asked.signature_name or DEFAULT_SIGNATURE
    answered.version.value = version
