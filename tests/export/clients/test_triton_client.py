"""`tritonclient`, which speaks the Open Inference Protocol: its numbers are those of Python."""

import numpy as np
import pytest

import kbert
from export.server.running import DevelopmentServer
from tests.kbert.checkpoints.test_damaged_checkpoints import sentences

TEXTS = ["jump the a", "walk a", "", "the play, the plays and the days of all the players: é"]


def told_by(answers_of, path, name):
    with DevelopmentServer(path, name, 0, 0) as server:
        return answers_of("ask_triton.py", f"localhost:{server.rest_api_port}", name, *TEXTS)


@pytest.mark.slow
def test_labels_by_tritons_client_are_those_of_python(answers_of, finetuned_run):
    told = told_by(answers_of, finetuned_run.path, "org/loud")
    expected = kbert.load(finetuned_run.path).predict(TEXTS)
    assert told["live"] and told["ready"] and told["version"] and told["models"] == [True, False]
    assert told["server"]["extensions"] == ["binary_tensor_data"]
    assert told["metadata"]["inputs"] == [{"name": "text", "datatype": "BYTES", "shape": [-1]}]
    for way in ("bytes", "json", "packed"):
        assert told[way]["label"] == [one["label"] for one in expected]
        probabilities = [[*one["probabilities"].values()] for one in expected]
        np.testing.assert_allclose(told[way]["probabilities"], probabilities, atol=1e-5)
    assert told["one"] == [told["metadata"]["outputs"][0]["name"]] and told["id"] == "7"
    assert [status for status, _ in told["refusals"]] == ["400", "400", "400", "404"]
    sentences_told = [sentence for _, sentence in told["refusals"]]
    assert sentences_told[0] == "text: received FP32; expected BYTES."
    assert sentences_told[1] == "received inputs words; the signature serving_default takes text."
    assert sentences_told[2].startswith('"priority" is no field of this request')
    assert sentences_told[3] == "model 'other' is not served; 'org/loud' is."


@pytest.mark.slow
def test_vectors_by_tritons_client_are_those_of_python(answers_of, tmp_path):
    sentences(tmp_path / "e5")
    told, expected = told_by(answers_of, tmp_path / "e5", "e5"), kbert.load(tmp_path / "e5").embed(TEXTS)
    for way in ("bytes", "json", "packed"):
        np.testing.assert_allclose(told[way]["embedding"], expected, atol=1e-5)
