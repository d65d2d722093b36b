"""GetModelMetadata and GetModelStatus."""

import tensorflow as tf
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2

from ...gate.saved_model_session import RequestError

SIGNATURE_DEF = "signature_def"


def model_metadata(models, request) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """Answers a GetModelMetadata request.

    Args:
        models: the `ServedModels`.
        request: a `GetModelMetadataRequest`.

    Raises:
        RequestError: in the words of the real server.
    """
    if not request.HasField("model_spec"):
        raise RequestError("INVALID_ARGUMENT", "Missing ModelSpec")
    if not request.metadata_field:
        raise RequestError(
            "INVALID_ARGUMENT", "GetModelMetadataRequest must specify at least one metadata_field"
        )
    for field in request.metadata_field:
        if field != SIGNATURE_DEF:
            raise RequestError("INVALID_ARGUMENT", f"Metadata field {field} is not supported")

    loaded = models.find(request.model_spec)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    for name, signature in loaded.signatures.items():
        signatures.signature_def[name].CopyFrom(signature)
    response = get_model_metadata_pb2.GetModelMetadataResponse()
    response.model_spec.name = request.model_spec.name
    response.model_spec.version.value = loaded.version
    response.metadata[SIGNATURE_DEF].Pack(signatures)
    return response


def model_status(models, request) -> get_model_status_pb2.GetModelStatusResponse:
    """Answers a GetModelStatus request; see `model_metadata`."""
    if not request.HasField("model_spec"):
        raise RequestError("INVALID_ARGUMENT", "Missing ModelSpec")
    response = get_model_status_pb2.GetModelStatusResponse()
    for status in models.statuses(request.model_spec):
        version_status = response.model_version_status.add(version=status.version)
        version_status.state = version_status.State.Value(status.state)
        version_status.status.error_code = tf.errors.__dict__[status.error_code]
        version_status.status.error_message = status.error_message
    return response
