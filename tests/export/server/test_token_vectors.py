"""Late interaction over HTTP: vectors of tokens, and texts ranked by MaxSim."""

from types import SimpleNamespace

import numpy as np
import pytest

from export.server import ranking
from kbert.cli.warn_once import warn_once
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
    names = {"input_type": task}, {"input_type": f"search_{task}"}
    for body in (*names, {} if task == "document" else {"prompt_name": task}):
        status, answer = asked.post("/embed_all", {"inputs": TEXTS} | body)
        assert status == 200
        for found, expected in zip(answer, loaded.embed(TEXTS, task=task), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-5)


def test_texts_that_clients_wrote_a_prompt_into_are_said(late, caplog):
    warn_once.cache_clear()
    late[0].post("/embed_all", {"inputs": PROMPTS["query"] + TEXTS[0], "prompt_name": "query"})
    assert "begin with it already" in caplog.text


@pytest.mark.parametrize("path", ["/", "/invocations"])
def test_paths_for_any_request_give_the_same(late, path):
    asked, _ = late
    for body in ({"inputs": TEXTS}, {"inputs": TEXTS[0], "prompt_name": "query", "truncate": True}):
        assert asked.post(path, body) == asked.post("/embed_all", body)
    rows = {"instances": [{"text": TEXTS[0]}], "signature_name": "query"}
    assert list(asked.post(path, rows)[1]) == ["predictions"]


@pytest.mark.parametrize("part", [128, 2])
def test_texts_are_ranked_by_the_models_similarity(late, monkeypatch, part):
    monkeypatch.setattr(ranking, "_PART", part)  # the matrices of all texts may be too large for one answer
    require_the_ranks_of_python(*late)


@pytest.mark.parametrize(("longest", "parts"), [(9, [2, 2, 1]), (40, [1] * 5), (None, [5])])
def test_no_part_of_a_ranking_is_larger_than_an_answer_may_be(longest, parts):
    """100 documents of 1,400 tokens were refused because of vectors that nobody had asked for."""
    seen = []

    def token_vectors(request, texts, task, *others):
        seen.append(len(texts))
        return [np.eye(3, 4, dtype=np.float32)] * len(texts)

    service = SimpleNamespace(
        model=SimpleNamespace(longest=lambda: longest, similarity="maxsim"),
        limits=SimpleNamespace(max_answer_bytes=2 * (9 * (4 + 1) * 4 + 1)),
        checked=lambda texts: texts,
        token_vectors=token_vectors,
    )
    scores = ranking._by_token_vectors(service, None, "q", ["a"] * 5, True)
    assert scores.shape == (5,) and seen[1:] == parts


def test_what_is_not_answered_is_said(late, vectors):
    asked, _ = late
    for body, words in (
        ({"inputs": ["a", LONG], "truncate": False}, "texts[1] has more tokens than are answered of a docum"),
        ({"inputs": "a", "input_type": "clustering"}, 'expected "query" or "document"'),
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


def test_tokens_and_cuts_are_those_of_documents_and_queries(tmp_path):
    """Both have lengths of their own beside the model's."""
    lengths = {"document_length": 20, "query_length": 6, "query_expansion": None}
    with served_task(tmp_path, "late_interaction", VECTORS | lengths) as (asked, loaded):
        assert loaded.max_seq_length not in (6, 20)
        for task, length in (("document", 20), ("query", 6)):
            _, (tokens,) = asked.post("/tokenize", {"inputs": LONG, "prompt_name": task})
            ids = loaded.inputs(PROMPTS[task] + LONG)["input_ids"].numpy()[0, : length - 1].tolist()
            assert [token["id"] for token in tokens] == [*ids, loaded.vocabulary.sep_id]
            _, (vectors,) = asked.post("/embed_all", {"inputs": LONG, "prompt_name": task})
            assert len(vectors) == length
        assert asked.post("/tokenize", {"inputs": LONG}) == asked.post(
            "/tokenize", {"inputs": LONG, "prompt_name": "document"}
        )
        told = asked.rest("GET", "/info")[1]
        assert told["max_input_length"] == 20 and told["model_type"] is None
        for most, status in ((19, 400), (20, 200)):
            body = {"query": "a", "texts": [LONG], "max_tokens_per_doc": most}
            assert asked.post("/rerank", body)[0] == status
        status, answer = asked.post("/tokenize", {"inputs": LONG, "prompt_name": "passage"})
        assert status == 400 and 'expected "query" or "document"' in answer["error"]
