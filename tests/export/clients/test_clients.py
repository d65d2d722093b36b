"""`openai`, `huggingface_hub` and `cohere` ask a server: vectors, scores and labels are those of Python."""

import json

import numpy as np
import pytest

import kbert
from export.server.running import DevelopmentServer
from tests.kbert.checkpoints.test_damaged_checkpoints import sentences

TEXTS = ["play a day", "fluffy", "the play, the plays and the days of all the players"]


@pytest.mark.slow
def test_the_clients_of_others_get_the_vectors_of_python(answers_of, tmp_path):
    folder = tmp_path / "e5"
    sentences(folder)
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "the "}}))
    with DevelopmentServer(folder, "e5", 0, 0, api_key="secret") as server:
        url = f"http://localhost:{server.rest_api_port}"
        told = answers_of("ask.py", url, "e5", *TEXTS)
    loaded = kbert.load(folder)
    expected = loaded.embed(TEXTS)
    for way in ("base64", "float", "hugging_face", "hugging_face_alone"):
        np.testing.assert_allclose(np.reshape(told[way], expected.shape), expected, atol=1e-5)
    np.testing.assert_allclose(told["prompted"], loaded.embed("the " + TEXTS[0]), atol=1e-5)
    np.testing.assert_allclose(told["similar"], expected @ expected[0], atol=1e-5)
    scores = expected @ loaded.embed("the " + TEXTS[0])
    assert [index for index, _ in told["ranked"]] == np.argsort(-scores).tolist()
    np.testing.assert_allclose([score for _, score in told["ranked"]], np.sort(scores)[::-1], atol=1e-5)
    assert told["models"] == ["e5"] and told["model"] == "e5"
    assert told["tokens"] == int(loaded.inputs(TEXTS)["input_mask"].numpy().sum())
    kinds = [(kind, status) for kind, status, _ in told["refusals"]]
    assert kinds == [
        ("AuthenticationError", 401),
        ("NotFoundError", 404),
        ("BadRequestError", 400),
        ("BadRequestError", 400),
    ]
    assert "'e5' is" in told["refusals"][1][2]


@pytest.mark.slow
def test_labels_by_hugging_faces_client_are_those_of_python(answers_of, finetuned_run):
    texts = ["jump the a", "walk a"]
    with DevelopmentServer(finetuned_run.path, "loud", 0, 0) as server:
        told = answers_of("ask_labels.py", f"http://localhost:{server.rest_api_port}", *texts)
    for answer, expected in zip(told["all"], kbert.load(finetuned_run.path).predict(texts), strict=True):
        scores = {one["label"]: one["score"] for one in answer}
        assert scores == pytest.approx(expected["probabilities"], abs=1e-5)
        assert answer[0]["label"] == expected["label"]
    assert told["first"] == [answer[:1] for answer in told["all"]]
    exponents = np.exp([[one["score"] for one in answer] for answer in told["raw"]])
    scores = [[one["score"] for one in answer] for answer in told["all"]]
    np.testing.assert_allclose(exponents / exponents.sum(axis=1, keepdims=True), scores, atol=1e-5)
