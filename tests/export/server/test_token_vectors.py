"""Late interaction over HTTP: vectors of tokens, and texts ranked by MaxSim."""

import numpy as np
import pytest

import kbert
from export.server.running import DevelopmentServer
from kbert.encoder import BertEncoder
from kbert.tasks import TASKS
from tests.conftest import tiny_encoder_config
from tests.export.server.asking import Asked
from tests.kbert.runs.written_run import written_run
from tests.kbert.test_encoder import randomize
from tests.tfrecords_tools import small_corpus

VECTORS = {
    "dense": [{"units": 6, "activation": "Identity", "use_bias": False}],
    "query_expansion": {"length": 8},
    "skiplist_words": ["the"],
    "prompts": {"query": "play ", "document": "day "},
    "similarity_fn_name": "meanmaxsim",
}
TEXTS = ["play a day", "the fluffy", "the play, the plays and the days of all the players"]
LONG = "play " * 50


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """(what asks a server, the model in Python)."""
    vocabulary, task = small_corpus.vocabulary(), TASKS["late_interaction"](VECTORS)
    model = task.build_model(BertEncoder(tiny_encoder_config(vocab_size=len(vocabulary))))
    randomize(model)
    run = written_run(tmp_path_factory.mktemp("late") / "run", task, model, vocabulary)
    with DevelopmentServer(run.path, "colbert", 0, 0) as server:
        yield Asked(server.rest_api_port), kbert.load(run.path)


@pytest.mark.slow
@pytest.mark.parametrize("task", ["query", "document"])
def test_all_vectors_are_those_of_python(late, task):
    asked, loaded = late
    for body in ({"input_type": task}, {} if task == "document" else {"prompt_name": task}):
        status, answer = asked.post("/embed_all", {"inputs": TEXTS} | body)
        assert status == 200
        for found, expected in zip(answer, loaded.embed(TEXTS, task=task), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
def test_texts_are_ranked_by_the_models_similarity(late):
    asked, loaded = late
    expected = loaded.rank("the day", TEXTS)
    status, answer = asked.post("/rerank", {"query": "the day", "texts": TEXTS})
    assert status == 200 and [one["index"] for one in answer] == [one["index"] for one in expected]
    scores = [one["score"] for one in expected]
    np.testing.assert_allclose([one["score"] for one in answer], scores, atol=1e-5)
    assert asked.rest("GET", "/info")[1]["can"]["rank"]


@pytest.mark.slow
def test_what_is_not_answered_is_said(late, vectors):
    asked, _ = late
    for body, words in (
        ({"inputs": ["a", LONG], "truncate": False}, "texts[1] has more tokens than are answered of a docum"),
        ({"inputs": "a", "input_type": "passage"}, 'expected "query" or "document"'),
        ({"inputs": "a", "normalize": True}, "normalize"),
    ):
        status, answer = asked.post("/embed_all", body)
        assert status in (400, 422) and words in str(answer), answer
    status, answer = asked.post("/rerank", {"query": LONG, "texts": ["a"], "truncate": False})
    assert status == 400 and "query has more tokens" in answer["error"]
    status, answer = vectors[0].post("/embed_all", {"inputs": "a"})
    assert status == 404 and "gives no vectors of tokens" in str(answer)
    status, answer = asked.post("/embed", {"inputs": "a"})
    assert status == 404
