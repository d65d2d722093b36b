"""Sparse vectors over HTTP: the words of texts with their weights, and texts ranked by them."""

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

PROMPTS = {"query": "play ", "document": "day "}
TEXTS = ["play a day", "the fluffy", "the play, the plays and the days of all the players"]


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    """(what asks a server, the model in Python)."""
    vocabulary, task = small_corpus.vocabulary(), TASKS["sparse_embedding"]({"prompts": PROMPTS})
    model = task.build_model(BertEncoder(tiny_encoder_config(vocab_size=len(vocabulary))))
    randomize(model)
    run = written_run(tmp_path_factory.mktemp("sparse") / "run", task, model, vocabulary)
    with DevelopmentServer(run.path, "splade", 0, 0) as server:
        yield Asked(server.rest_api_port), kbert.load(run.path)


@pytest.mark.slow
@pytest.mark.parametrize("task", [None, "query", "document"])
def test_words_are_those_of_python(sparse, task):
    asked, loaded = sparse
    for body in ({"input_type": task}, {"prompt_name": task}):
        status, answer = asked.post("/embed_sparse", {"inputs": TEXTS} | body)
        expected = loaded.embed(TEXTS, task=task).toarray()
        assert status == 200 and len(answer) == len(TEXTS)
        for words, right in zip(answer, expected, strict=True):
            found = np.zeros_like(right)
            found[[word["index"] for word in words]] = [word["value"] for word in words]
            np.testing.assert_allclose(found, right, atol=1e-5)
            values = [word["value"] for word in words]
            assert values == sorted(values, reverse=True) and min(values) > 0
    assert asked.post("/embed_sparse", {"inputs": TEXTS[0]}) == (
        200,
        asked.post("/embed_sparse", {"inputs": TEXTS[:1]})[1],
    )


@pytest.mark.slow
def test_texts_are_ranked_by_the_dot_product(sparse):
    asked, loaded = sparse
    expected = loaded.rank("the day", TEXTS)
    status, answer = asked.post("/rerank", {"query": "the day", "texts": TEXTS})
    assert status == 200 and [one["index"] for one in answer] == [one["index"] for one in expected]
    scores = [one["score"] for one in expected]
    np.testing.assert_allclose([one["score"] for one in answer], scores, rtol=1e-5)
    assert asked.rest("GET", "/info")[1]["can"]["rank"]


@pytest.mark.slow
def test_what_is_not_answered_is_said(sparse, vectors):
    asked, _ = sparse
    status, answer = asked.post("/embed", {"inputs": TEXTS})
    assert status == 404 and "gives no vectors of texts" in answer["error"]
    status, answer = asked.post("/embed_sparse", {"inputs": ["play " * 50], "truncate": False})
    assert status in (400, 413, 422) and "texts[0] has more than the" in answer["error"]
    status, answer = vectors[0].post("/embed_sparse", {"inputs": TEXTS})
    assert status == 404 and "gives no sparse vectors of texts" in answer["error"]
