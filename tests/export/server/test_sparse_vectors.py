"""Sparse vectors over HTTP: the words of texts with their weights, and texts ranked by them."""

import numpy as np
import pytest

from kbert.cli.warn_once import warn_once
from kbert.tasks.sparse_embedding import sparse_serving
from tests.export.server.served_task import PROMPTS, TEXTS, require_the_ranks_of_python, served_task

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def sparse(tmp_path_factory):
    with served_task(tmp_path_factory.mktemp("sparse"), "sparse_embedding", {"prompts": PROMPTS}) as both:
        yield both


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


@pytest.mark.parametrize("path", ["/", "/invocations"])
def test_paths_for_any_request_give_the_same(sparse, path):
    asked, _ = sparse
    for body in ({"inputs": TEXTS}, {"inputs": TEXTS[0], "prompt_name": "query", "truncate": True}):
        assert asked.post(path, body) == asked.post("/embed_sparse", body)
    rows = {"instances": [{"text": TEXTS[0]}], "signature_name": "serving_default"}
    assert list(asked.post(path, rows)[1]) == ["predictions"]


def test_texts_are_ranked_by_the_dot_product(sparse):
    require_the_ranks_of_python(*sparse)


def test_words_that_are_left_out_are_said(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(sparse_serving, "MOST_WORDS", 3)
    with served_task(tmp_path, "sparse_embedding", {}) as (asked, _):
        for path in ("/embed_sparse", "/v1/models/sparse_embedding:predict"):
            warn_once.cache_clear()
            caplog.clear()
            body = {"inputs": TEXTS} if path == "/embed_sparse" else {"inputs": {"text": TEXTS}}
            assert asked.post(path, body)[0] == 200
            assert "there are texts with 3 words or more whose weight is not 0" in caplog.text


def test_what_is_not_answered_is_said(sparse, vectors):
    asked, _ = sparse
    status, answer = asked.post("/embed", {"inputs": TEXTS})
    assert status == 404 and "gives no vectors of texts; ask SPLADE by /embed_sparse" in answer["error"]
    status, answer = asked.post("/embed_sparse", {"inputs": ["play " * 50], "truncate": False})
    assert status in (400, 413, 422) and "texts[0] has more than the" in answer["error"]
    status, answer = vectors[0].post("/embed_sparse", {"inputs": TEXTS})
    assert status == 404 and "gives no sparse vectors of texts" in answer["error"]
