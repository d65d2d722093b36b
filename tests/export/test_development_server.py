import http.client
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    classification_pb2,
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from export.development_server import DevelopmentServer, banner
from export.serving_client import answer_line, predict_grpc, predict_rest
from tests.export import small_models

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
MODEL = "length"
TEXTS = ["short", "a much longer text é"]


@pytest.fixture(scope="module")
def server(text_length_dir, tmp_path_factory):
    base_path = tmp_path_factory.mktemp("served")
    shutil.copytree(text_length_dir, base_path / "3")
    small_models.save_text_length(base_path / "1", bias=100.0)
    (base_path / "tmp.9").mkdir()  # an export on its way: no integer, not a version
    with DevelopmentServer(str(base_path), MODEL, port=0, rest_api_port=0) as server:
        yield server


@pytest.fixture(scope="module")
def stubs(server):
    with grpc.insecure_channel(f"localhost:{server.port}") as channel:
        yield (
            prediction_service_pb2_grpc.PredictionServiceStub(channel),
            model_service_pb2_grpc.ModelServiceStub(channel),
        )


def _request(texts=TEXTS, **model_spec):
    request = predict_pb2.PredictRequest()
    request.model_spec.name = model_spec.pop("name", MODEL)
    request.model_spec.signature_name = model_spec.pop("signature_name", "")
    if "version" in model_spec:
        request.model_spec.version.value = model_spec["version"]
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(texts, tf.string))
    return request


def _rest(server, method, path, body=None):
    connection = http.client.HTTPConnection("localhost", server.rest_api_port, timeout=20)
    content = body if body is None or isinstance(body, bytes) else json.dumps(body)
    connection.request(method, path, content)
    response = connection.getresponse()
    assert response.headers["Content-Type"] == "application/json"
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def _predict(server, body, path=f"/v1/models/{MODEL}:predict"):
    return _rest(server, "POST", path, body)


def _wait_until(condition, seconds=10.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


# gRPC


def test_grpc_predict_answers_with_the_newest_version(stubs):
    response = stubs[0].Predict(_request())
    assert response.model_spec.version.value == 3
    assert response.model_spec.signature_name == "serving_default"
    assert tf.make_ndarray(response.outputs["label"]).tolist() == [b"short", b"long"]
    # In its own field, as the real server writes it: clients read float_val.
    probabilities = response.outputs["probabilities"]
    assert len(probabilities.float_val) == 4
    assert tf.make_ndarray(probabilities).shape == (2, 2)


def test_grpc_output_filter_and_older_version(stubs):
    request = _request(version=1)
    request.output_filter.append("label")
    response = stubs[0].Predict(request)
    assert list(response.outputs) == ["label"]
    assert response.model_spec.version.value == 1
    assert tf.make_ndarray(response.outputs["label"]).tolist() == [b"long", b"long"]


@pytest.mark.parametrize(
    ("request_", "code", "details"),
    [
        (_request(name="x"), "NOT_FOUND", "Servable not found for request: Latest(x)"),
        (_request(version=7), "NOT_FOUND", "Servable not found for request: Specific(length, 7)"),
        (
            _request(signature_name="x"),
            "FAILED_PRECONDITION",
            'Serving signature key "x" not found.',
        ),
        (
            _request(signature_name="pair"),
            "INVALID_ARGUMENT",
            "input size does not match signature: 1!=2 len({text}) != len({text,text_pair}). "
            "Sent extra: {}. Missing but required: {text_pair}.",
        ),
        (_request(name=""), "INVALID_ARGUMENT", "ModelSpec has no name specified."),
    ],
)
def test_grpc_refusals_use_the_servers_codes_and_words(stubs, request_, code, details):
    with pytest.raises(grpc.RpcError) as error:
        stubs[0].Predict(request_)
    assert (error.value.code().name, error.value.details()) == (code, details)


def test_grpc_wrong_dtype_and_unknown_output_are_refused(stubs):
    request = _request()
    request.inputs["text"].CopyFrom(tf.make_tensor_proto([1.0]))
    with pytest.raises(grpc.RpcError, match="to be string but float is provided"):
        stubs[0].Predict(request)
    request = _request()
    request.output_filter.append("logits")
    with pytest.raises(grpc.RpcError, match="output tensor alias not found in signature: logits"):
        stubs[0].Predict(request)


def test_grpc_status_and_metadata(stubs):
    status_request = get_model_status_pb2.GetModelStatusRequest()
    status_request.model_spec.name = MODEL
    versions = stubs[1].GetModelStatus(status_request).model_version_status
    assert versions[0].version == 3
    assert versions[0].state == get_model_status_pb2.ModelVersionStatus.AVAILABLE

    request = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    request.model_spec.name = MODEL
    response = stubs[0].GetModelMetadata(request)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert response.metadata["signature_def"].Unpack(signatures)
    assert set(signatures.signature_def["pair"].inputs) == {"text", "text_pair"}
    assert response.model_spec.version.value == 3

    status_request.model_spec.name = "x"
    with pytest.raises(grpc.RpcError, match="Could not find any versions of model x"):
        stubs[1].GetModelStatus(status_request)


def test_methods_left_out_say_so(stubs):
    with pytest.raises(grpc.RpcError) as error:
        stubs[0].Classify(classification_pb2.ClassificationRequest())
    assert error.value.code() == grpc.StatusCode.UNIMPLEMENTED


# REST


def test_rest_row_form(server):
    status, answer = _predict(server, {"instances": TEXTS})
    assert status == 200
    assert [row["label"] for row in answer["predictions"]] == ["short", "long"]
    assert len(answer["predictions"][0]["probabilities"]) == 2

    rows = [{"text": "a", "text_pair": "a"}, {"text": "a", "text_pair": "b"}]
    _, answer = _predict(server, {"signature_name": "pair", "instances": rows})
    assert answer == {"predictions": [True, False]}


def test_rest_column_form(server):
    _, answer = _predict(server, {"inputs": TEXTS})
    assert answer["outputs"]["label"] == ["short", "long"]
    columns = {"text": ["a", "b"], "text_pair": ["a", "a"]}
    _, answer = _predict(server, {"signature_name": "pair", "inputs": columns})
    assert answer == {"outputs": [True, False]}


def test_rest_version_in_the_path(server):
    path = f"/v1/models/{MODEL}/versions/1:predict"
    _, answer = _predict(server, {"instances": ["short"]}, path)
    assert answer["predictions"][0]["label"] == "long"
    status, answer = _predict(server, {"instances": ["a"]}, path.replace("/1:", "/8:"))
    assert status == 404
    assert answer == {"error": "Servable not found for request: Specific(length, 8)"}


def test_rest_bytes_and_not_a_number(server):
    _, answer = _predict(server, {"signature_name": "odd", "inputs": [{"b64": "AGFi"}]})
    outputs = answer["outputs"]
    assert outputs["raw_bytes"] == [{"b64": "AGFi/w=="}]  # \0ab and the \xff of the model
    assert outputs["not_a_number"] == [float("inf")]
    assert outputs["labels"] == ["short", "long", "other"]
    _, answer = _predict(server, {"signature_name": "odd", "inputs": [""]})
    assert np.isnan(answer["outputs"]["not_a_number"][0])


def test_rest_floats_are_the_shortest_that_read_back(server):
    status, answer = _predict(server, {"inputs": ["1234"]})
    number = answer["outputs"]["probabilities"][0][0]
    assert status == 200 and len(repr(number)) <= 12
    expected = predict_grpc(f"localhost:{server.port}", MODEL, {"text": np.array(["1234"])})
    assert np.float32(number) == expected["probabilities"][0, 0]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "JSON Parse error: The document is empty"),
        (b"{", "JSON Parse error: "),
        (b"[1]", "JSON Value: [1] Is not object"),
        ({}, "Missing 'inputs' or 'instances' key"),
        ({"inputs": [], "instances": []}, "expecting only one of 'inputs' or 'instances' keys"),
        ({"instances": []}, "No values in 'instances' array"),
        ({"instances": "a"}, "Expecting 'instances' to be an list/array"),
        (
            {"instances": ["a"], "signature_name": "x"},
            'Serving signature name: "x" not found in signature def',
        ),
        (
            {"instances": ["a"], "signature_name": "pair"},
            "instances is a plain list, but expecting list of objects",
        ),
        (
            {"instances": [{"text": "a"}], "signature_name": "pair"},
            "keys must be equal to: text,text_pair",
        ),
        ({"instances": [{"words": "a"}]}, "JSON object: does not have named input: words"),
        ({"instances": [3]}, "JSON Value: 3 Type: Number is not of expected type: string"),
        ({"instances": ["a", ["b"]]}, "Expecting shape [] but got: [1]"),
        (
            {"signature_name": "pair", "inputs": {"text": ["a"]}},
            "Missing named input: text_pair in 'inputs' object.",
        ),
        (
            {"signature_name": "weigh", "inputs": {"ids": [[1, 2], [3]], "weights": [[1.0]]}},
            "Encountered list at unexpected size: 1 at level: 1 expected size: 2",
        ),
        (
            {"signature_name": "weigh", "inputs": {"ids": [[1.5]], "weights": [[1.0]]}},
            "JSON Value: 1.5 Type: Number is not of expected type: int32",
        ),
        (
            {"signature_name": "weigh", "inputs": {"ids": [[1]], "weights": [[1.0]]}},
            "Failed to write JSON value for tensor type: half",
        ),
        (
            {"signature_name": "odd", "instances": ["a"]},
            "has inconsistent batch size: ",
        ),
    ],
)
def test_rest_refusals_use_the_servers_words(server, body, message):
    status, answer = _predict(server, body)
    assert status == 400
    assert message in answer["error"]


def test_rest_status_metadata_and_unknown_paths(server):
    status, answer = _rest(server, "GET", f"/v1/models/{MODEL}/versions/3")
    ok = {"error_code": "OK", "error_message": ""}
    assert status == 200
    assert answer == {"model_version_status": [{"version": "3", "state": "AVAILABLE", "status": ok}]}
    _, answer = _rest(server, "GET", f"/v1/models/{MODEL}/metadata")
    signature = answer["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert answer["model_spec"]["version"] == "3"
    assert signature["inputs"]["text"]["dtype"] == "DT_STRING"
    assert signature["inputs"]["text"]["tensor_shape"]["dim"][0]["size"] == "-1"

    assert _rest(server, "GET", "/v1/models/x") == (
        404,
        {"error": "Could not find any versions of model x"},
    )
    assert _rest(server, "GET", "/v2/models") == (
        400,
        {"error": "Malformed request: GET /v2/models"},
    )
    assert _predict(server, {}, f"/v1/models/{MODEL}:classify")[0] == 501
    assert _predict(server, {}, f"/v1/models/{MODEL}/labels/stable:predict") == (
        400,
        {"error": "Unrecognized servable version label: stable"},
    )


# The client


@pytest.mark.parametrize("predict", [predict_grpc, predict_rest])
def test_client_returns_the_same_arrays_over_both_apis(server, predict):
    address = f"localhost:{server.port if predict is predict_grpc else server.rest_api_port}"
    answer = predict(address, MODEL, {"text": np.array(TEXTS)})
    assert answer["label"].tolist() == [b"short", b"long"]
    assert answer["probabilities"].dtype == np.float32
    assert answer["probabilities"].shape == (2, 2)
    # One output only: REST sends it without its name.
    pair = {"text": np.array(["a"]), "text_pair": np.array(["a"])}
    assert predict(address, MODEL, pair, "pair")["same"].tolist() == [True]
    odd = predict(address, MODEL, {"text": np.array([b"\xfe"], object)}, "odd")
    assert odd["raw_bytes"].tolist() == [b"\xfe\xff"]


@pytest.mark.parametrize("predict", [predict_grpc, predict_rest])
def test_client_says_what_is_wrong(server, predict):
    address = f"localhost:{server.port if predict is predict_grpc else server.rest_api_port}"
    text = {"text": np.array(["a"])}
    with pytest.raises(ConnectionError, match="No server answers .* at localhost:1 .*Start one"):
        predict("localhost:1", MODEL, text)
    with pytest.raises(ValueError, match="has no model named 'x' .*--model_name"):
        predict(address, "x", text)
    with pytest.raises(ValueError, match=r"(text_pair.*The request had: text <U1 \[1\])"):
        predict(address, MODEL, text, "pair")


def test_client_line_has_every_output():
    outputs = {
        "probabilities": np.array([[0.2, 0.8]], np.float32),
        "label": np.array(["naïf".encode()], object),
        "labels": np.array([b"a", b"b"], object),
    }
    assert json.loads(answer_line({"text": "t"}, outputs)) == {
        "text": "t",
        "probabilities": [0.2, 0.8],
        "label": "naïf",
        "labels": ["a", "b"],
    }


# Versions and threads


def test_requests_from_many_threads_get_their_own_answers(server):
    wrong = []

    def ask(number):
        predict = predict_grpc if number % 2 else predict_rest
        address = f"localhost:{server.port if number % 2 else server.rest_api_port}"
        texts = ["x" * number] * (number + 1)
        answer = predict(address, MODEL, {"text": np.array(texts)})["label"].tolist()
        if answer != [b"long" if number > 8 else b"short"] * (number + 1):
            wrong.append((number, answer))

    threads = [threading.Thread(target=ask, args=(number % 16,)) for number in range(48)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.slow
def test_new_version_is_picked_up_and_a_broken_one_is_not(text_length_dir, trimmer_dir, tmp_path):
    shutil.copytree(text_length_dir, tmp_path / "1")
    with DevelopmentServer(str(tmp_path), MODEL, 0, 0, poll_seconds=0.05) as server:

        def label():
            answer = _predict(server, {"instances": ["short"]})[1]
            return answer["predictions"][0]["label"]

        def states():
            versions = _rest(server, "GET", f"/v1/models/{MODEL}")[1]["model_version_status"]
            return {version["version"]: version["state"] for version in versions}

        assert label() == "short"
        shutil.copytree(trimmer_dir, tmp_path / "tmp.2")
        os.rename(tmp_path / "tmp.2", tmp_path / "2")
        _wait_until(lambda: states() == {"2": "END", "1": "AVAILABLE"})
        status = _rest(server, "GET", f"/v1/models/{MODEL}/versions/2")[1]
        reason = status["model_version_status"][0]["status"]
        assert reason["error_code"] == "INVALID_ARGUMENT"
        assert "TFText>RoundRobinTrim" in reason["error_message"]
        assert label() == "short"

        small_models.save_text_length(tmp_path / "tmp.3", bias=100.0)
        os.rename(tmp_path / "tmp.3", tmp_path / "3")
        _wait_until(lambda: label() == "long")
        assert states() == {"3": "AVAILABLE", "2": "END"}

        # A version taken away: the newest that is left answers again.
        shutil.rmtree(tmp_path / "2")
        os.rename(tmp_path / "3", tmp_path / "old.3")
        _wait_until(lambda: label() == "short")


def test_half_written_version_is_tried_again_when_it_is_complete(text_length_dir, tmp_path):
    shutil.copytree(text_length_dir, tmp_path / "1")
    with DevelopmentServer(str(tmp_path), MODEL, 0, 0, poll_seconds=0.05) as server:
        (tmp_path / "2").mkdir()
        _wait_until(lambda: len(server.servable.statuses(MODEL)) == 2)
        shutil.copytree(text_length_dir, tmp_path / "2", dirs_exist_ok=True)
        _wait_until(lambda: server.models.newest_version(MODEL) == 2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path.rmdir(), "is not a folder; expected a folder that holds one"),
        (lambda path: None, "holds no version; found nothing, expected a folder named by an"),
        (lambda path: (path / "saved_model.pb").touch(), "is itself a SavedModel; .*Pass "),
        (lambda path: (path / "1").mkdir(), "Version 1 of length cannot be served: .*Export"),
    ],
)
def test_unusable_base_path_is_refused_before_serving(tmp_path, make, message):
    folder = tmp_path / "base"
    folder.mkdir()
    make(folder)
    with pytest.raises(ValueError, match=f"(?s){message}"):
        DevelopmentServer(str(folder), MODEL, 0, 0)


def test_taken_ports_are_named(server):
    base_path = str(server.servable.base_path)
    with pytest.raises(ValueError, match=f"rest_api_port={server.rest_api_port} cannot be opened"):
        DevelopmentServer(base_path, MODEL, 0, server.rest_api_port)
    with pytest.raises(ValueError, match=f"port={server.port} cannot be opened for gRPC"):
        DevelopmentServer(base_path, MODEL, server.port, 0)


def test_banner_names_the_real_server(tmp_path):
    text = banner(str(tmp_path / "sst2"), "sst2")
    assert "development server" in text
    assert (
        "docker run -p 8500:8500 -p 8501:8501 "
        f"--mount type=bind,source={tmp_path}/sst2,target=/models/sst2 "
        "-e MODEL_NAME=sst2 tensorflow/serving:2.19.1"
    ) in text


# The scripts as processes


def _script(module, *arguments, **kwargs):
    return subprocess.Popen(
        [sys.executable, "-m", f"export.{module}", *arguments],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **kwargs,
    )


@pytest.mark.slow
def test_scripts_serve_ask_and_end_on_sigterm(text_length_dir):
    base_path = str(pathlib.Path(text_length_dir).parent)
    flags = [f"--model_base_path={base_path}", f"--model_name={MODEL}"]
    process = _script("development_server", *flags, "--port=0", "--rest_api_port=0")
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        assert "development server" in lines[0]
        assert lines[3].startswith(f"serving {MODEL} version 1: gRPC localhost:")
        rest_address = lines[3].strip().rpartition("http://")[2]

        client = _script(
            "serving_client",
            f"--server={rest_address}",
            "--api=rest",
            f"--model_name={MODEL}",
            stdin=subprocess.PIPE,
        )
        output, errors = client.communicate("short\na much longer text\n", timeout=30)
        assert client.returncode == 0, errors
        answers = [json.loads(line) for line in output.splitlines()]
        assert [answer["label"] for answer in answers] == ["short", "long"]
        assert len(answers[0]["probabilities"]) == 2

        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0
    finally:
        process.kill()
        process.communicate()

    client = _script("serving_client", f"--server={rest_address}", "--api=rest", "--model_name=x", "--text=a")
    output, errors = client.communicate(timeout=30)
    assert client.returncode == 1
    assert output == ""
    assert errors.startswith(f"error: No server answers over REST at {rest_address}")
