"""The REST paths answer with the real server's bodies, codes and words."""

import numpy as np
import pytest

from tests.export.server.asking import MODEL, TEXTS


def test_row_form(asked):
    status, answer = asked.predict({"instances": TEXTS})
    assert status == 200
    assert [row["label"] for row in answer["predictions"]] == ["short", "long"]
    assert len(answer["predictions"][0]["probabilities"]) == 2

    rows = [{"text": "a", "text_pair": "a"}, {"text": "a", "text_pair": "b"}]
    _, answer = asked.predict({"signature_name": "pair", "instances": rows})
    assert answer == {"predictions": [True, False]}


def test_column_form(asked):
    _, answer = asked.predict({"inputs": TEXTS})
    assert answer["outputs"]["label"] == ["short", "long"]
    columns = {"text": ["a", "b"], "text_pair": ["a", "a"]}
    _, answer = asked.predict({"signature_name": "pair", "inputs": columns})
    assert answer == {"outputs": [True, False]}


@pytest.mark.parametrize("part", ["versions/1", "versions/0001", "labels/stable"])
def test_version_and_label_in_the_path(asked, part):
    _, answer = asked.predict({"instances": ["short"]}, f"/v1/models/{MODEL}/{part}:predict")
    assert answer["predictions"][0]["label"] == "long"


def test_unknown_versions_and_labels(asked):
    ask = {"instances": ["a"]}
    assert asked.predict(ask, f"/v1/models/{MODEL}/versions/8:predict") == (
        404,
        {"error": "Servable not found for request: Specific(length, 8)"},
    )
    assert asked.predict(ask, f"/v1/models/{MODEL}/labels/new:predict") == (
        400,
        {"error": "Unrecognized servable version label: new"},
    )
    digits = "9" * 5000
    status, answer = asked.predict(ask, f"/v1/models/{MODEL}/versions/{digits}:predict")
    assert status == 400 and answer["error"].startswith("Failed to convert version: 99")


def test_classify_and_regress(asked):
    rows = [{"text": text} for text in TEXTS]
    status, answer = asked.predict(
        {"signature_name": "classify", "examples": rows}, f"/v1/models/{MODEL}:classify"
    )
    assert status == 200
    assert [[label for label, _ in row] for row in answer["results"]] == [["short", "long"]] * 2
    assert answer["results"][0][0][1] > 0.9 > answer["results"][1][0][1]
    body = {"signature_name": "regress", "context": {"text": ["four"]}, "examples": [{}, rows[0]]}
    assert asked.predict(body, f"/v1/models/{MODEL}:regress") == (200, {"results": [4.0, 5.0]})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({}, "key 'examples' is expected and was not found"),
        ({"examples": {}}, "Expecting 'examples' value to be an list/array"),
        ({"examples": []}, "'examples' value is an empty array"),
        ({"examples": ["a"]}, "Example must be JSON object but got JSON String"),
        ({"examples": [{"a": [1, "b"]}]}, "Unexpected element type in feature: a expecting type: int64"),
        ({"examples": [{"a": None}]}, "Feature: a has element with unexpected JSON type: Null"),
        ({"examples": [{"a": 1 << 63}]}, "Feature: a has uint64_t element."),
        (b'{"examples": [{"\xff": 1}]}', "A name is not UTF-8"),
        (b'{"examples": [{"a": 1}], "signature_name": "\xff"}', "A name is not UTF-8"),
        ({"examples": [{"a": 1}], "signature_name": "x"}, "No signature was found with the name: x"),
    ],
)
def test_refusals_of_examples_use_the_servers_words(asked, body, message):
    status, answer = asked.predict(body, f"/v1/models/{MODEL}:classify")
    assert status == 400 and message in answer["error"]


def test_bytes_and_not_a_number(asked):
    _, answer = asked.predict({"signature_name": "odd", "inputs": [{"b64": "AGFi"}]})
    outputs = answer["outputs"]
    assert outputs["raw_bytes"] == [{"b64": "AGFi/w=="}]  # \0ab and the \xff of the model
    assert outputs["not_a_number"] == [float("inf")]
    assert outputs["labels"] == ["short", "long", "other"]
    _, answer = asked.predict({"signature_name": "odd", "inputs": [""]})
    assert np.isnan(answer["outputs"]["not_a_number"][0])


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
        ({"instances": ["a"], "signature_name": "x"}, 'signature name: "x" not found in signature def'),
        ({"instances": ["a"], "signature_name": "pair"}, "instances is a plain list, but expecting list of"),
        ({"instances": [{"b64": "YQ=="}], "signature_name": "pair"}, "expecting list of objects as multiple"),
        ({"instances": [{"text": "a"}], "signature_name": "pair"}, "keys must be equal to: text,text_pair"),
        ({"instances": [{"words": "a"}]}, "JSON object: does not have named input: words"),
        ({"instances": [3]}, "JSON Value: 3 Type: Number is not of expected type: string"),
        ({"instances": ["a", ["b"]]}, "Expecting shape [] but got: [1]"),
        ({"signature_name": "pair", "inputs": {"text": ["a"]}}, "Missing named input: text_pair in 'inputs'"),
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
        ({"signature_name": "odd", "instances": ["a"]}, "has inconsistent batch size: "),
        # What the first server answered with status 500 and Python's words, or answered at all.
        (b'{"instances": ["a"]} garbage', "must not be followed by other values. at offset: 21"),
        (b'{"instances": ' + b"[" * 50_000, "JSON Parse error: The document is nested too deeply"),
        (b'{"instances": ' + b"[" * 300 + b"]" * 300 + b"}", "Encountered list at unexpected level: 254"),
        (b'{"instances": [' + b"1" * 5000 + b"]}", "Number too big to be stored in double"),
        (b'{"instances": [' + b"1" * 300 + b"]}", "Type: Number is not of expected type: string"),
        ({"instances": ["a" * 10_001]}, "text: a string of 10001 bytes; this server takes up to 10000"),
        ({"instances": ["a"] * 50_001}, "More than 50000 values in a tensor"),
    ],
)
def test_refusals_use_the_servers_words(asked, body, message):
    status, answer = asked.predict(body)
    assert status == 400
    assert message in answer["error"]


def test_status_and_metadata(asked):
    ok = {"error_code": "OK", "error_message": ""}
    assert asked.rest("GET", f"/v1/models/{MODEL}/versions/3") == (
        200,
        {"model_version_status": [{"version": "3", "state": "AVAILABLE", "status": ok}]},
    )
    assert (
        asked.rest("GET", f"/v1/models/{MODEL}/labels/stable")[1]["model_version_status"][0]["version"] == "1"
    )
    _, answer = asked.rest("GET", f"/v1/models/{MODEL}/metadata")
    signature = answer["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert answer["model_spec"]["version"] == "3"
    assert signature["inputs"]["text"]["dtype"] == "DT_STRING"
    assert signature["inputs"]["text"]["tensor_shape"]["dim"][0]["size"] == "-1"
    assert asked.rest("GET", "/v1/models/x") == (404, {"error": "Could not find any versions of model x"})


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_are_answered_in_json(asked, method):
    path = f"/v1/models/{MODEL}:predict"
    assert asked.rest(method, path, b"") == (400, {"error": f"Malformed request: {method} {path}"})


def test_other_paths_are_answered_in_json(asked):
    assert asked.rest("GET", "/v2/models")[0] == 404
    assert asked.rest("GET", "/v1/nothing") == (400, {"error": "Malformed request: GET /v1/nothing"})
