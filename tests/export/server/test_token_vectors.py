"""Late interaction over HTTP: vectors of tokens, and texts ranked by MaxSim."""

import numpy as np
import pytest

from tests.export.server.served_task import PROMPTS, TEXTS, require_the_ranks_of_python, served_task

pytestmark = pytest.mark.long

VECTORS = {
    "dense": [{"units": 6, "activation": "Identity", "use_bias": False}],
    "query_expansion": {"length": 8},
    "skiplist_words": ["the"],
    "prompts": PROMPTS,
    "similarity_fn_name": "meanmaxsim",
}
LONG = "play " * 50


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    with served_task(tmp_path_factory.mktemp("late"), "late_interaction", VECTORS) as both:
        yield both


@pytest.mark.parametrize("task", ["query", "document"])
def test_all_vectors_are_those_of_python(late, task):
    asked, loaded = late
    for body in ({"input_type": task}, {} if task == "document" else {"prompt_name": task}):
        status, answer = asked.post("/embed_all", {"inputs": TEXTS} | body)
        assert status == 200
        for found, expected in zip(answer, loaded.embed(TEXTS, task=task), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("path", ["/", "/invocations"])
def test_paths_for_any_request_give_the_same(late, path):
    asked, _ = late
    for body in ({"inputs": TEXTS}, {"inputs": TEXTS[0], "prompt_name": "query", "truncate": True}):
        assert asked.post(path, body) == asked.post("/embed_all", body)
    rows = {"instances": [{"text": TEXTS[0]}], "signature_name": "query"}
    assert list(asked.post(path, rows)[1]) == ["predictions"]


def test_texts_are_ranked_by_the_models_similarity(late):
    require_the_ranks_of_python(*late)


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
