"""TensorFlow Serving's REST paths: its forms of requests and answers, a clear 4xx for what is wrong."""

import json

import numpy as np
import pytest
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf import meta_graph_pb2

from export.gate.saved_model_session import RequestError
from export.server.service import _check_tensor
from tests.export.server.asking import MODEL, TEXTS

PATH = f"/v1/models/{MODEL}"


def test_rows_and_columns(asked):
    status, answer = asked.predict({"instances": TEXTS})
    assert status == 200 and [row["label"] for row in answer["predictions"]] == ["short", "long"]
    assert len(answer["predictions"][0]["probabilities"]) == 2
    assert asked.predict({"inputs": TEXTS})[1]["outputs"]["label"] == ["short", "long"]

    rows = [{"text": "a", "text_pair": "a"}, {"text": "a", "text_pair": "b"}]
    assert asked.predict({"signature_name": "pair", "instances": rows})[1] == {"predictions": [True, False]}
    columns = {"text": ["a", "b"], "text_pair": ["a", "a"]}
    assert asked.predict({"signature_name": "pair", "inputs": columns})[1] == {"outputs": [True, False]}
    settings = {"signature_name": "repeat", "inputs": {"text": ["a", "b"], "top_k": 2}}
    assert asked.predict(settings)[1] == {"outputs": [["a", "a"], ["b", "b"]]}


def test_bytes_and_what_is_no_number(asked):
    _, answer = asked.predict({"signature_name": "odd", "inputs": [{"b64": "AGFi"}]})
    outputs = answer["outputs"]
    assert outputs["raw_bytes"] == [{"b64": "AGFi/w=="}]  # \0ab and the \xff of the model
    assert outputs["not_a_number"] == [float("inf")] and outputs["labels"] == ["short", "long", "other"]
    _, answer = asked.predict({"signature_name": "odd", "inputs": [""]})
    assert np.isnan(answer["outputs"]["not_a_number"][0])
    weigh = {"signature_name": "weigh", "inputs": {"ids": [[2]], "weights": [[0.2]]}}
    assert asked.predict(weigh)[1]["outputs"]["sum"] == [[0.4]]  # the shortest decimal of a float32


def test_status_metadata_and_versions(asked):
    ok = {"error_code": "OK", "error_message": ""}
    for path in (PATH, f"{PATH}/versions/3"):
        status, answer = asked.rest("GET", path)
        assert status == 200
        assert answer["model_version_status"] == [{"version": "3", "state": "AVAILABLE", "status": ok}]
    _, answer = asked.rest("GET", f"{PATH}/metadata")
    definition = answer["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert answer["model_spec"] == {"name": MODEL, "signature_name": "", "version": "3"}
    assert definition["inputs"]["text"]["dtype"] == "DT_STRING"
    assert definition["inputs"]["text"]["tensor_shape"]["dim"][0]["size"] == "-1"
    assert asked.post(f"{PATH}/versions/3:predict", {"instances": ["a"]})[0] == 200
    for path in ("/v1/models/x", f"{PATH}/versions/1", f"{PATH}/versions/{'9' * 5000}", f"{PATH}/labels/x"):
        assert asked.rest("GET", path)[0] == 404, path
    assert asked.post(f"{PATH}/versions/1:predict", {"instances": ["a"]})[0] == 404


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "is not valid JSON"),
        (b"[1]", "must be an object"),
        (b'{"instances": ["\xff"]}', "'utf-8' codec"),
        (b'{"instances": ["a"]} garbage', "is not valid JSON"),
        (b'{"instances": ' + b"[" * 50_000, "nested too deeply"),
        (b'{"instances": ' + b"[" * 300 + b"]" * 300 + b"}", "more than 8 lists inside each other"),
        (b'{"instances": [' + b"1" * 5000 + b"]}", "is not valid JSON"),
        (b'{"instances": [' + b"1" * 300 + b"]}", "is no text"),
        (b'{"instances": ["\\ud800"]}', "half of a surrogate pair"),
        ({}, 'either "instances" (rows) or "inputs"'),
        ({"instances": []}, "must be a list of one example or more"),
        ({"instances": ["a"], "signature_name": "x"}, "signature 'x' is not one of letters, number, "),
        (
            {"instances": ["a"], "signature_name": "pair"},
            "instances[0] has a plain value; the signature takes",
        ),
        (
            {"instances": [{"text": "a"}], "signature_name": "pair"},
            "instances[0] has text; the signature takes",
        ),
        ({"instances": [{"words": "a"}]}, "instances[0] has words; the signature takes text"),
        (b'{"inputs": {"\\ud800": ["a"]}}', "received inputs ?; the signature takes text"),
        ({"instances": [3]}, "text: 3 is no text"),
        ({"instances": [{"b64": "!"}]}, "no base64"),
        ({"instances": [["a"], "b"]}, "lists of different lengths"),
        ({"inputs": "a"}, "text has shape []; expected 1 dimensions"),
        ({"inputs": []}, "text has shape [0]; expected one row or more"),
        (
            {"signature_name": "weigh", "inputs": {"ids": [[1]], "weights": [[1.0], [2.0]]}},
            "received 1 of ids, 2 of weights; give as many of each",
        ),
        (
            {"signature_name": "weigh", "inputs": {"ids": [[1, 2], [3]], "weights": [[1.0]]}},
            "different lengths",
        ),
        (
            {"signature_name": "weigh", "inputs": {"ids": [[1.5]], "weights": [[1.0]]}},
            "1.5 is not of type int32",
        ),
        ({"signature_name": "weigh", "inputs": {"ids": [[1 << 31]], "weights": [[1.0]]}}, "out of the range"),
        ({"signature_name": "odd", "instances": ["a"]}, "no rows in common"),
        ({"signature_name": "number", "instances": ["word"]}, "could not correctly convert string: word"),
        ({"signature_name": "repeat", "inputs": {"text": ["a"], "top_k": 1001}}, "from 1 to 1000"),
        ({"signature_name": "repeat", "inputs": {"text": ["a"], "top_k": 0}}, "from 1 to 1000"),
        ({"instances": ["a" * 10_001]}, "a text of 10001 bytes; this server takes up to 10000"),
        ({"instances": ["a"] * 501}, "501 texts; this server takes up to 500"),
        ({"signature_name": "weigh", "inputs": {"ids": [[1] * 50_001], "weights": [[1.0]]}}, "50001 numbers"),
    ],
)
def test_what_is_wrong_is_a_400_that_says_why(asked, body, message):
    status, answer = asked.predict(body)
    assert status == 400 and message in answer["error"], answer


def test_numbers_of_other_programs_have_no_bound():
    info = meta_graph_pb2.TensorInfo(dtype=types_pb2.DT_INT32)
    info.tensor_shape.SetInParent()
    for name, value in (("seed", -1), ("step", 5000), ("top_k", 1000)):
        _check_tensor(name, np.int32(value), info)
    with pytest.raises(RequestError, match="from 1 to 1000"):
        _check_tensor("top_k", np.int32(1001), info)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_and_paths_are_answered_in_json(asked, method):
    path = f"{PATH}:predict"
    assert asked.rest(method, path, b"") == (405, {"error": f"{method} {path}: Method Not Allowed"})
    for other in ("/v2/models", "/v1/nothing", f"{PATH}:classify", "/page/x.js", "/page/../served_model.py"):
        status, answer = asked.rest(method, other, b"")
        assert status in (404, 405) and json.dumps(answer).count("error") == 1, other
        assert (":predict" in answer["error"]) == other.endswith(":classify")
