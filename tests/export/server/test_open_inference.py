"""The Open Inference Protocol: tensors by name, as KServe's clients send them."""

import pytest

from tests.export.server.asking import MODEL

PATH = f"/v2/models/{MODEL}"


def tensor(**changed):
    return {
        "name": "text",
        "shape": [2],
        "datatype": "BYTES",
        "data": ["short", "a much longer text"],
    } | changed


def test_tensors_in_and_out(asked):
    status, answer = asked.post(f"{PATH}/infer", {"id": "7", "inputs": [tensor()]})
    assert status == 200 and answer["id"] == "7"
    assert (answer["model_name"], answer["model_version"]) == (MODEL, "3")
    outputs = {output.pop("name"): output for output in answer["outputs"]}
    assert outputs["label"] == {"shape": [2], "datatype": "BYTES", "data": ["short", "long"]}
    assert outputs["probabilities"]["shape"] == [2, 2] and outputs["probabilities"]["datatype"] == "FP32"
    assert len(outputs["probabilities"]["data"]) == 4
    body = {"inputs": [tensor()], "outputs": [{"name": "label", "parameters": {"binary_data": False}}]}
    assert [output["name"] for output in asked.post(f"{PATH}/versions/3/infer", body)[1]["outputs"]] == [
        "label"
    ]
    numbers = [
        {"name": "ids", "shape": [1, 2], "datatype": "INT32", "data": [1, 2]},
        {"name": "weights", "shape": [1, 2], "datatype": "FP32", "data": [[0.5, 2]]},
    ]
    body = {"inputs": numbers, "parameters": {"signature_name": "weigh"}, "outputs": [{"name": "sum"}]}
    assert asked.post(f"{PATH}/infer", body)[1]["outputs"][0]["data"] == [0.5, 4.0]


def test_what_the_server_says_of_itself(asked):
    assert asked.rest("GET", "/v2")[1]["name"] == "kbert"
    assert asked.rest("GET", "/v2/health/live") == (200, {"live": True})
    assert asked.rest("GET", "/v2/health/ready") == (200, {"ready": True})
    assert asked.rest("GET", f"{PATH}/ready") == (200, {"name": MODEL, "ready": True})
    _, told = asked.rest("GET", PATH)
    assert told["versions"] == ["3"]
    assert told["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert {output["name"] for output in told["outputs"]} == {"label", "probabilities"}
    for path in ("/v2/models/x", f"{PATH}/versions/1", f"{PATH}/versions/1/ready"):
        assert asked.rest("GET", path)[0] == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "inputs is missing; expected a list of tensors"),
        ({"inputs": []}, "received inputs nothing; the signature serving_default takes text"),
        ({"inputs": [tensor(name="txt")]}, "received inputs txt"),
        ({"inputs": [tensor(), tensor()]}, '"text" is there twice'),
        ({"inputs": [tensor(shape=[3])]}, "data has the shape [2], and its shape says [3]"),
        ({"inputs": [tensor(shape=[-2])]}, "shape[0]: received -2; expected a list of sizes"),
        ({"inputs": [tensor(datatype="FP32")]}, "text: received FP32; expected BYTES"),
        ({"inputs": [tensor(datatype="INT8")]}, "expected BYTES, BOOL, INT32"),
        ({"inputs": [tensor(dtype="BYTES")]}, '"dtype" is no field of this request; did you mean datatype?'),
        (
            {"inputs": [tensor(parameters={"binary_data_size": 9})]},
            "binary_data_size; expected",
        ),
        ({"inputs": [tensor(data=[1, 2])]}, "text: 1 is no text"),
        ({"inputs": [tensor()], "outputs": [{"name": "x"}]}, 'outputs: "x" is none; serving_default has'),
        (
            {"inputs": [tensor()], "outputs": [{"name": "doubled", "parameters": {"signature_name": "x"}}]},
            '"signature_name" is no field',
        ),
        ({"inputs": [tensor()], "parameters": {"top_k": 3}}, '"top_k" is no field'),
        ({"inputs": [tensor()], "parameters": {"signature_name": "x"}}, "signature 'x' is not one of"),
    ],
)
def test_what_is_wrong_is_a_400_that_says_why(asked, body, words):
    status, answer = asked.post(f"{PATH}/infer", body)
    assert status == 400 and words in answer["error"], answer
