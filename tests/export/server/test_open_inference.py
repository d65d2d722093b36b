"""The Open Inference Protocol: tensors by name, as KServe's clients send them, in JSON or behind it."""

import json
import struct

import numpy as np
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
    # With the name, as KServe's InferenceRESTClient sends it.
    status, answer = asked.post(f"{PATH}/infer", {"id": "7", "model_name": MODEL, "inputs": [tensor()]})
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
    of_mlserver = {"content_type": "str"}  # StringCodec.encode_input
    body |= {"inputs": [tensor(shape=[2, 1], parameters=of_mlserver)], "parameters": of_mlserver}
    assert asked.post(f"{PATH}/infer", body)[1]["outputs"][0]["data"] == ["short", "long"]
    body |= {"inputs": [tensor(shape=[2, 1])], "parameters": {}}  # Triton's clients, with max_batch_size
    assert asked.post(f"{PATH}/infer", body)[1]["outputs"][0]["data"] == ["short", "long"]
    numbers = [
        {"name": "ids", "shape": [1, 2], "datatype": "INT32", "data": [1, 2]},
        {"name": "weights", "shape": [1, 2], "datatype": "FP32", "data": [[0.5, 2]]},
    ]
    body = {"inputs": numbers, "parameters": {"signature_name": "weigh"}, "outputs": [{"name": "sum"}]}
    assert asked.post(f"{PATH}/infer", body)[1]["outputs"][0]["data"] == [0.5, 4.0]
    for number, value in zip(numbers, (3, 0.5), strict=True):  # a column, where the model takes a table
        number |= {"shape": [1, 1], "data": [value], "parameters": of_mlserver}
    body["inputs"] = numbers
    assert asked.post(f"{PATH}/infer", body)[1]["outputs"][0]["data"] == [1.5]
    body = {"inputs": [tensor(shape=[1], data=[""])], "parameters": {"signature_name": "odd"}}
    outputs = {output["name"]: output for output in asked.post(f"{PATH}/infer", body)[1]["outputs"]}
    assert np.isnan(outputs["not_a_number"]["data"]).all()  # as Triton writes it


def with_bytes(asked, document, *values, json_size=None):
    """(status, the answer's JSON, the bytes behind it) for a document with values behind it."""
    head = json.dumps(document).encode()
    told = {"Inference-Header-Content-Length": str(len(head) if json_size is None else json_size)}
    status, headers, content = asked.whole("POST", f"{PATH}/infer", b"".join([head, *values]), told.items())
    size = int(headers.get("Inference-Header-Content-Length", len(content)))
    return status, json.loads(content[:size]), content[size:]


def sized(name, shape, datatype, size):
    return {"name": name, "shape": shape, "datatype": datatype, "parameters": {"binary_data_size": size}}


def in_bytes(*texts):
    return b"".join(struct.pack("<I", len(text)) + text for text in texts)


def test_values_as_bytes_are_those_of_json(asked):
    texts = ["short", "", "a much longer text é"]
    _, expected = asked.post(f"{PATH}/infer", {"inputs": [tensor(shape=[3], data=texts)]})
    packed = in_bytes(*(text.encode() for text in texts))
    document = {"inputs": [sized("text", [3], "BYTES", len(packed))]}
    assert with_bytes(asked, document, packed) == (200, expected, b"")
    one = {"outputs": [{"name": "label", "parameters": {"binary_data": False}}]}
    document["parameters"] = {"binary_data_output": True}
    assert with_bytes(asked, document | one, packed)[1]["outputs"] == [
        output for output in expected["outputs"] if output["name"] == "label"
    ]
    status, answer, behind = with_bytes(asked, document, packed)
    assert status == 200
    for output, told in zip(answer["outputs"], expected["outputs"], strict=True):
        size = output.pop("parameters")["binary_data_size"]
        mine, behind = behind[:size], behind[size:]
        values = told.pop("data")
        assert output == told
        if told["datatype"] == "BYTES":
            assert mine == in_bytes(*(value.encode() for value in values))
        else:
            np.testing.assert_array_equal(np.frombuffer(mine, "<f4"), np.array(values, np.float32))
    assert behind == b""
    ids, weights = np.array([1, 2], "<i4").tobytes(), np.array([0.5, 2], "<f4").tobytes()
    document = {
        "inputs": [sized("ids", [1, 2], "INT32", 8), sized("weights", [1, 2], "FP32", 8)],
        "parameters": {"signature_name": "weigh"},
        "outputs": [{"name": "sum"}],
    }
    assert with_bytes(asked, document, ids, weights)[1]["outputs"][0]["data"] == [0.5, 4.0]


@pytest.mark.parametrize(
    ("inputs", "values", "words"),
    [
        ([sized("text", [1], "BYTES", 9)], in_bytes(b"abcde"), None),
        (
            [sized("text", [1], "BYTES", 9)],
            in_bytes(b"abcd"),
            "size is 9, and 8 bytes are left behind the JSON",
        ),
        (
            [sized("text", [1], "BYTES", 9)],
            in_bytes(b"abcde") + b"f",
            "1 bytes behind the JSON are of no tensor",
        ),
        (
            [sized("text", [2], "BYTES", 9)],
            in_bytes(b"abcde"),
            "its 9 bytes are not 2 texts, each behind its",
        ),
        ([sized("text", [1], "BYTES", 9)], b"\xff" * 9, "its 9 bytes are not 1 texts"),
        ([sized("text", [3000], "BYTES", 9)], in_bytes(b"abcde"), "3000 texts; this server takes up to"),
        ([sized("text", [1 << 60] * 8, "BYTES", 9)], in_bytes(b"abcde"), "this server takes up to"),
        ([sized("text", [1] * 9, "BYTES", 9)], in_bytes(b"abcde"), "shape: received a list of 9 elements"),
        ([sized("text", [1], "BYTES", -1)], b"", "binary_data_size: received -1"),
        ([sized("text", [1], "FP32", 4)], b"abcd", "text: received FP32; expected BYTES"),
        ([sized("ids", [3], "INT32", 8)], b"12345678", "ids: 8 bytes for the shape [3]; expected 12"),
        ([tensor(parameters={"shared_memory_region": "x"})], b"", '"shared_memory_region" is no field'),
    ],
)
def test_other_bytes_are_refused(asked, inputs, values, words):
    status, answer, _ = with_bytes(asked, {"inputs": inputs}, values)
    assert status == (400 if words else 200), answer
    assert not words or words in answer["error"], answer


@pytest.mark.parametrize("json_size", ["-1", "1000000", "9" * 5000, "1e2", ""])
def test_a_size_of_the_json_that_cannot_be_is_refused(asked, json_size):
    status, answer, _ = with_bytes(asked, {"inputs": [tensor()]}, json_size=json_size)
    assert status == 400 and "Inference-Header-Content-Length: received" in answer["error"]


def test_what_the_server_says_of_itself(asked):
    limits = asked.rest("GET", "/info")[1]
    assert (limits["max_client_batch_size"], limits["max_texts"]) == (32, 500)
    told = asked.rest("GET", "/v2")[1]
    assert told["name"] == "kbert" and told["extensions"] == ["binary_tensor_data"]
    assert asked.rest("GET", "/v2/health/live") == (200, {"live": True})
    assert asked.rest("GET", "/v2/health/ready") == (200, {"ready": True})
    assert asked.rest("GET", f"{PATH}/ready") == (200, {"name": MODEL, "ready": True})
    _, told = asked.rest("GET", PATH)
    assert told["versions"] == ["3"]
    assert told["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    assert {output["name"] for output in told["outputs"]} == {"label", "probabilities"}
    assert asked.post(f"{PATH}/infer", {"model_name": "x", "inputs": [tensor()]})[0] == 404
    for path in ("/v2/models/x", f"{PATH}/versions/1", f"{PATH}/versions/1/ready"):
        assert asked.rest("GET", path)[0] == 404


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "inputs is missing; expected a list of tensors"),
        ({"inputs": []}, "received inputs nothing; the signature serving_default takes text"),
        ({"inputs": [tensor(name="txt")]}, "received inputs txt"),
        ({"inputs": [tensor(), tensor()]}, '"text" is given twice'),
        ({"inputs": [tensor(shape=[3])]}, "data has the shape [2], and its shape says [3]"),
        ({"inputs": [tensor(shape=[-2])]}, "shape[0]: received -2; expected a list of up to 8 sizes"),
        ({"inputs": [tensor(shape=[2] + [1] * 99)]}, "shape: received a list of 100 elements; expected"),
        ({"inputs": [tensor(datatype="FP32")]}, "text: received FP32; expected BYTES"),
        ({"inputs": [tensor(datatype="INT8")]}, "expected BYTES, BOOL, INT32"),
        ({"inputs": [tensor(dtype="BYTES")]}, '"dtype" is no field of this request; did you mean datatype?'),
        (
            {"inputs": [tensor(parameters={"binary_data_size": 9})]},
            "expected either its values in data, or in its parameters binary_data_size",
        ),
        ({"inputs": [tensor(data=None)]}, "text: expected either its values in data, or in its parameters"),
        ({"inputs": [tensor(data=[1, 2])]}, "text: 1 is no text"),
        ({"inputs": [tensor()], "outputs": [{"name": "label"}] * 2}, 'outputs: "label" is given twice'),
        ({"inputs": [tensor()], "outputs": [{"name": "x"}]}, 'outputs: "x" is none; serving_default has'),
        (
            {"inputs": [tensor()], "outputs": [{"name": "doubled", "parameters": {"signature_name": "x"}}]},
            '"signature_name" is no field',
        ),
        ({"inputs": [tensor()], "parameters": {"top_k": 3}}, '"top_k" is no field'),
        ({"inputs": [tensor()], "parameters": {"content_type": "pd"}}, 'received "pd"; expected "str" or'),
        ({"inputs": [tensor()], "parameters": {"signature_name": "x"}}, "signature 'x' is not one of"),
    ],
)
def test_what_is_wrong_is_a_400_that_says_why(asked, body, words):
    status, answer = asked.post(f"{PATH}/infer", body)
    assert status == 400 and words in answer["error"], answer
