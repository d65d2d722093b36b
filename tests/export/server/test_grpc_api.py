"""The gRPC services answer with the real server's values, codes and words."""

import grpc
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    inference_pb2,
    predict_pb2,
    regression_pb2,
)

from .asking import MODEL, TEXTS, request_of


def example(text):
    one = tf.train.Example()
    one.features.feature["text"].bytes_list.value.append(text.encode())
    return one


def with_examples(request, signature, texts=TEXTS):
    request.model_spec.name = MODEL
    request.model_spec.signature_name = signature
    request.input.example_list.examples.extend(map(example, texts))
    return request


def refused(call, request):
    with pytest.raises(grpc.RpcError) as error:
        call(request)
    return error.value.code().name, error.value.details()


def test_predict_answers_with_the_newest_version(stubs):
    response = stubs[0].Predict(request_of())
    assert response.model_spec.version.value == 3
    assert response.model_spec.signature_name == "serving_default"
    assert tf.make_ndarray(response.outputs["label"]).tolist() == [b"short", b"long"]
    # In its own field, as the real server writes it: clients read float_val.
    probabilities = response.outputs["probabilities"]
    assert len(probabilities.float_val) == 4
    assert tf.make_ndarray(probabilities).shape == (2, 2)


@pytest.mark.parametrize("spec", [{"version": 1}, {"label": "stable"}])
def test_output_filter_and_an_older_version(stubs, spec):
    request = request_of(**spec)
    request.output_filter.append("label")
    response = stubs[0].Predict(request)
    assert list(response.outputs) == ["label"]
    assert response.model_spec.version.value == 1
    assert tf.make_ndarray(response.outputs["label"]).tolist() == [b"long", b"long"]


def test_classify_regress_and_both_at_once(stubs):
    classified = stubs[0].Classify(with_examples(classification_pb2.ClassificationRequest(), "classify"))
    assert classified.model_spec.version.value == 3
    first, second = classified.result.classifications
    assert [one.label for one in first.classes] == ["short", "long"]
    assert first.classes[0].score > 0.9 > 0.1 > second.classes[0].score

    regressed = stubs[0].Regress(with_examples(regression_pb2.RegressionRequest(), "regress"))
    assert [one.value for one in regressed.result.regressions] == [5.0, 21.0]

    request = inference_pb2.MultiInferenceRequest()
    for method in ("classify", "regress"):
        task = request.tasks.add(method_name=f"tensorflow/serving/{method}")
        task.model_spec.name, task.model_spec.signature_name = MODEL, method
    request.input.example_list.examples.extend(map(example, TEXTS))
    both = stubs[0].MultiInference(request)
    assert both.results[0].classification_result == classified.result
    assert both.results[1].regression_result == regressed.result


@pytest.mark.parametrize(
    ("spec", "code", "details"),
    [
        ({"name": "x"}, "NOT_FOUND", "Servable not found for request: Latest(x)"),
        ({"version": 7}, "NOT_FOUND", "Servable not found for request: Specific(length, 7)"),
        ({"label": "new"}, "INVALID_ARGUMENT", "Unrecognized servable version label: new"),
        ({"signature_name": "x"}, "FAILED_PRECONDITION", 'Serving signature key "x" not found.'),
        (
            {"signature_name": "pair"},
            "INVALID_ARGUMENT",
            "input size does not match signature: 1!=2 len({text}) != len({text,text_pair}). "
            "Sent extra: {}. Missing but required: {text_pair}.",
        ),
        ({"name": ""}, "INVALID_ARGUMENT", "ModelSpec has no name specified."),
    ],
)
def test_refusals_use_the_servers_codes_and_words(stubs, spec, code, details):
    assert refused(stubs[0].Predict, request_of(**spec)) == (code, details)


def test_a_request_without_a_model_or_an_input_is_refused(stubs):
    assert refused(stubs[0].Predict, predict_pb2.PredictRequest())[1] == "Missing ModelSpec"
    empty = with_examples(classification_pb2.ClassificationRequest(), "classify", [])
    assert refused(stubs[0].Classify, empty) == ("INVALID_ARGUMENT", "Input is empty.")
    wrong = with_examples(classification_pb2.ClassificationRequest(), "pair")
    assert refused(stubs[0].Classify, wrong) == ("INVALID_ARGUMENT", "Expected one input Tensor.")
    wrong = with_examples(regression_pb2.RegressionRequest(), "classify")
    assert refused(stubs[0].Regress, wrong) == ("INVALID_ARGUMENT", "Expected one output Tensor.")


def test_status_and_metadata(stubs):
    status_request = get_model_status_pb2.GetModelStatusRequest()
    status_request.model_spec.name = MODEL
    versions = stubs[1].GetModelStatus(status_request).model_version_status
    assert [(one.version, one.state) for one in versions] == [(3, versions[0].AVAILABLE)] + [
        (1, versions[0].AVAILABLE)
    ]

    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = MODEL
    response = stubs[0].GetModelMetadata(request)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert set(signatures.signature_def["pair"].inputs) == {"text", "text_pair"}
    assert response.model_spec.version.value == 3

    status_request.model_spec.name = "x"
    assert refused(stubs[1].GetModelStatus, status_request)[1] == "Could not find any versions of model x"


@pytest.mark.parametrize("method", ["PredictionService/Predict", "ModelService/GetModelStatus"])
def test_bytes_that_are_no_message_are_refused_without_a_word_in_the_log(server, caplog, method):
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        call = channel.unary_unary(f"/tensorflow.serving.{method}")
        assert refused(call, b"\xff\xff") == ("INTERNAL", "Failed to parse the request.")
        assert refused(channel.unary_unary("/tensorflow.serving.Other/Method"), b"")[0] == "UNIMPLEMENTED"
    assert not caplog.records


def test_a_deadline_ends_the_run(stubs):
    with pytest.raises(grpc.RpcError) as error:
        stubs[0].Predict(request_of(["100000"], signature_name="work"), timeout=0.3)
    assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
