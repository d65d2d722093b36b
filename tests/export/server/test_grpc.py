"""gRPC: Predict and GetModelMetadata as TensorFlow Serving's stubs know them."""

import threading
from types import SimpleNamespace

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    inference_pb2,
    predict_pb2,
    prediction_service_pb2_grpc,
    regression_pb2,
)

from export.server.grpc_api import start_grpc_server
from export.server.limits import Limits
from export.server.metrics import Metrics

from .asking import MODEL, request_of


def refused(call, request, **how):
    with pytest.raises(grpc.RpcError) as error:
        call(request, **how)
    return error.value.code().name, error.value.details()


def test_predict_and_the_outputs_that_are_named(stub):
    response = stub.Predict(request_of())
    assert response.model_spec.version.value == 3
    assert response.model_spec.signature_name == "serving_default"
    assert tf.make_ndarray(response.outputs["label"]).tolist() == [b"short", b"long"]
    # In its own field, as TensorFlow Serving writes it: clients read float_val.
    assert len(response.outputs["probabilities"].float_val) == 4
    request = request_of(version=3)
    request.output_filter.append("label")
    assert list(stub.Predict(request).outputs) == ["label"]


def test_metadata(stub):
    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = MODEL
    response = stub.GetModelMetadata(request)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert set(signatures.signature_def["pair"].inputs) == {"text", "text_pair"}
    assert response.model_spec.version.value == 3
    assert refused(stub.GetModelMetadata, get_model_metadata_pb2.GetModelMetadataRequest())[0] == "NOT_FOUND"


def labelled():
    request = request_of()
    request.model_spec.version_label = "canary"
    return request


@pytest.mark.parametrize(
    ("request_", "code", "words"),
    [
        (request_of(version=1), "NOT_FOUND", "'length' 1 is not served"),
        (request_of(version=0), "NOT_FOUND", "'length' 0 is not served; 'length' 3 is."),
        (labelled(), "NOT_FOUND", "'length' canary is not served"),
        (request_of(signature_name="x"), "INVALID_ARGUMENT", "signature 'x' is not one of"),
        (
            request_of(signature_name="pair"),
            "INVALID_ARGUMENT",
            "received inputs text; the signature pair takes",
        ),
        (
            request_of([1, 2], dtype=tf.int64),
            "INVALID_ARGUMENT",
            "text has dtype int64; expected string",
        ),
        (request_of([]), "INVALID_ARGUMENT", "text has shape [0]; expected one row or more"),
        (predict_pb2.PredictRequest(), "NOT_FOUND", "is not served"),
    ],
)
def test_what_is_wrong_has_a_code_and_a_sentence(stub, request_, code, words):
    received = refused(stub.Predict, request_)
    assert received[0] == code and words in received[1]


def test_what_is_no_message_or_not_offered_is_refused(server, stub):
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        call = channel.unary_unary("/tensorflow.serving.PredictionService/Predict")
        assert refused(call, b"\xff\xff")[0] == "INTERNAL"
    for call, request in (
        (stub.Classify, classification_pb2.ClassificationRequest()),
        (stub.Regress, regression_pb2.RegressionRequest()),
        (stub.MultiInference, inference_pb2.MultiInferenceRequest()),
    ):
        code, sentence = refused(call, request)
        assert code == "UNIMPLEMENTED" and "TensorFlow Serving" in sentence


def test_too_many_at_once_are_refused(server):
    runs, may_end, most = threading.Semaphore(0), threading.Event(), 40

    def predict(*unused):
        runs.release()
        return {} if may_end.wait(60) else None

    service = SimpleNamespace(model=server.service.model, limits=Limits(max_pending=most), predict=predict)
    one, port = start_grpc_server(service, Metrics(), "localhost", 0, None, False)
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        first = [stub.Predict.future(request_of(), wait_for_ready=True) for _ in range(most)]
        # Each that is let in runs at once: none waits where no time-out and no metric sees it.
        assert all(runs.acquire(timeout=60) for _ in first)
        assert refused(stub.Predict, request_of())[0] == "RESOURCE_EXHAUSTED"
        may_end.set()
        assert {each.result().model_spec.name for each in first} == {MODEL}
    one.stop(0).wait()


def test_a_deadline_ends_the_run(stub):
    request = request_of(["100000"], signature_name="work")
    assert refused(stub.Predict, request, timeout=0.3)[0] == "DEADLINE_EXCEEDED"
    assert stub.Predict(request_of(), timeout=60).outputs
