"""Ranked texts: by a number for pairs, before or behind its activation, and by vectors."""

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

import kbert
from export.gate.saved_model_session import RequestError
from export.server.ranking import _require_no_longer
from export.server.running import DevelopmentServer
from kbert import TextInputs, Vocabulary
from tests.export.server.asking import Asked
from tests.export.server.conftest import pair_task

GOLDEN = Path("../shared/data/golden/retrieval")
TEXTS = ["play a day", "fluffy", "the play, the plays and the days of all the players"]


def test_raw_scores_are_those_before_the_activation(judge):
    body = {"query": "ab", "texts": ["a", "abcd"]}
    for raw, scores in (
        (False, 1 / (1 + np.exp([-2.0, 1.0]))),
        (None, 1 / (1 + np.exp([-2.0, 1.0]))),
        (True, [2, -1]),
    ):
        _, answer = judge.post("/rerank", body | {"raw_scores": raw})
        assert [one["index"] for one in answer] == [1, 0]
        np.testing.assert_allclose([one["score"] for one in answer], scores, rtol=1e-5)
    _, answer = judge.post("/predict", {"inputs": [["ab", "a"], ["ab", "abcd"]], "raw_scores": True})
    assert answer == [[{"label": "LABEL_0", "score": -1.0}], [{"label": "LABEL_0", "score": 2.0}]]


@pytest.mark.long
@pytest.mark.skipif(not GOLDEN.is_dir(), reason=f"{GOLDEN} is not here")
@pytest.mark.parametrize("name", ["identity", "sigmoid"])
def test_scores_of_a_folder_are_those_of_sentence_transformers(name):
    folder = GOLDEN / f"cross_encoder_{name}"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    query = expected["pairs"][0][0]
    texts = [text for first, text in expected["pairs"] if first == query]
    logits = np.reshape(expected["logits"], -1)
    with DevelopmentServer(folder, "m", 0, 0) as server:
        asked = Asked(server.rest_api_port)
        for raw, scores in ((False, expected["scores"]), (True, logits)):
            _, ranked = asked.post("/rerank", {"query": query, "texts": texts, "raw_scores": raw})
            found = [one["score"] for one in sorted(ranked, key=lambda one: one["index"])]
            np.testing.assert_allclose(found, scores[: len(texts)], atol=2e-5)
            _, rows = asked.post("/predict", {"inputs": expected["pairs"], "raw_scores": raw})
            np.testing.assert_allclose([row[0]["score"] for row in rows], scores, atol=2e-5)


def test_texts_whose_sigmoids_are_equal_keep_the_order_of_their_numbers(judge):
    lengths = [20, 24, 21, 23, 22]  # each sigmoid is 1 in float32
    body = {"query": "a", "texts": ["b" * length for length in lengths]}
    order = np.argsort(lengths)[::-1].tolist()
    _, answer = judge.post("/rerank", body)
    assert [one["index"] for one in answer] == order and {one["score"] for one in answer} == {1.0}
    documents = {"query": "a", "documents": body["texts"], "top_n": 2}
    _, answer = judge.post("/v2/rerank", documents)
    assert [one["index"] for one in answer["results"]] == order[:2]
    assert answer["data"] == answer["results"]  # Voyage's client


def test_tokens_that_are_not_known_are_not_told(judge):
    _, answer = judge.post("/v2/rerank", {"query": "ab", "documents": ["a"]})
    assert set(answer) == {"id", "model", "results", "meta", "object", "data"}
    assert "tokens" not in answer["meta"]


def test_a_pair_is_cut_only_where_it_may_be(judge):
    status, answer = judge.post("/rerank", {"query": "a", "texts": ["b", "b" * 9], "truncate": False})
    assert status == 400 and "texts[1] and the query are too long together" in answer["error"]


@pytest.mark.long
def test_cohere_gets_its_form_by_both_paths(ranking):
    asked, loaded = ranking
    body = {
        "model": "judge",
        "query": "jump",
        "documents": ["jump the a", "walk a"],
        "max_tokens_per_doc": 4096,
    }
    expected = loaded.rank("jump", body["documents"])
    for path in ("/v1/rerank", "/v2/rerank"):
        status, answer = asked.post(path, body | {"top_n": 1})
        assert status == 200 and len(answer["id"]) == 36 and answer["meta"]["api_version"] == {"version": "2"}
        assert answer["results"][0]["index"] == expected[0]["index"]
        assert answer["results"][0]["relevance_score"] == pytest.approx(expected[0]["score"], abs=1e-5)
    long = " ".join(["jump"] * 60)
    status, answer = asked.post("/rerank", {"query": "a", "texts": ["b", long], "truncate": False})
    assert status == 400 and "texts[1]" in answer["error"]
    status, answer = asked.post("/v2/rerank", body | {"rank_field": "title"})
    assert status == 400 and "did you mean rank_fields?" in answer["message"]


@pytest.mark.long
def test_a_field_of_the_documents_is_ranked(ranking):
    asked, _ = ranking
    documents = [{"title": "jump the a", "id": 7}, {"title": "walk a"}]
    body = {"query": "jump", "documents": documents, "rank_fields": ["title"], "return_documents": True}
    _, answer = asked.post("/v1/rerank", body)
    _, plain = asked.post("/v1/rerank", {"query": "jump", "documents": [each["title"] for each in documents]})
    scores = [(one["index"], one["relevance_score"]) for one in answer["results"]]
    assert scores == [(one["index"], one["relevance_score"]) for one in plain["results"]]
    assert [one["document"] for one in answer["results"]] == [documents[index] for index, _ in scores]
    for field, document in (("title", "a text"), ("text", {"title": "a"}), ("name", {"title": "a"})):
        wrong = {"query": "jump", "documents": [document], "rank_fields": [field]}
        status, answer = asked.post("/rerank", wrong)
        assert status == 400 and f'documents[0] has no text "{field}"' in answer["error"]
    body = {"query": "a", "texts": ["jump", "jump the a"]}
    assert asked.post("/rerank", body | {"max_tokens_per_doc": 5}) == asked.post("/rerank", body)
    status, answer = asked.post("/rerank", body | {"max_tokens_per_doc": 4})
    assert status == 400 and "max_tokens_per_doc=4" in answer["error"]


@pytest.mark.parametrize(
    ("has_vocabulary", "text", "most", "is_read"),
    [
        (False, "b" * 5, 8, True),
        (False, "b" * 6, 8, False),  # it may have a token for each byte, and three more
        (True, "b" * 6, 8, True),
        (True, " b" * 7, 8, False),
        (True, " b" * 30, 40, True),  # longer than a window of a model of windows, which reads all of it
        (True, " b" * 30, 31, False),
    ],
)
def test_a_number_of_tokens_is_refused_where_more_of_a_text_is_read(has_vocabulary, text, most, is_read):
    """Clients of Cohere's send 4,096 with each request."""

    vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "b"], do_lower_case=True)
    text_inputs = TextInputs(vocabulary, max_seq_length=6) if has_vocabulary else None
    model = SimpleNamespace(most_tokens=math.inf, text_inputs=text_inputs)
    encoded = lambda texts: np.array([*map(str.encode, texts)], object)  # noqa: E731
    service = SimpleNamespace(model=model, checked=encoded)
    if is_read:
        return _require_no_longer(service, ["b", text], most)
    with pytest.raises(RequestError, match="only where the model does; shorten the documents"):
        _require_no_longer(service, ["b", text], most)


@pytest.mark.slow
def test_a_model_of_vectors_ranks_by_its_similarity_with_its_prompts(vectors):
    asked, loaded = vectors
    query, texts = loaded.embed("the day"), loaded.embed(TEXTS)  # "the " is the prompt of queries
    expected = texts @ query
    status, answer = asked.post("/rerank", {"query": "day", "documents": TEXTS})
    assert status == 200
    assert [one["index"] for one in answer["results"]] == np.argsort(-expected).tolist()
    scores = [one["relevance_score"] for one in answer["results"]]
    np.testing.assert_allclose(scores, np.sort(expected)[::-1], atol=1e-5)
    tokens = loaded.inputs([*TEXTS, "the day"])["input_mask"].numpy().sum()
    assert answer["usage"]["total_tokens"] == tokens
    body = {"inputs": {"source_sentence": "day", "sentences": TEXTS}}
    _, answer = asked.post("/similarity", body)
    np.testing.assert_allclose(answer, texts @ loaded.embed("day"), atol=1e-5)
    _, answer = asked.post("/similarity", body | {"parameters": {"prompt_name": "query"}})
    prompted = loaded.embed([f"the {text}" for text in TEXTS])
    np.testing.assert_allclose(answer, prompted @ query, atol=1e-5)
    assert asked.rest("GET", "/info")[1]["can"]["rank"]


@pytest.mark.slow
def test_another_similarity_of_the_folder_is_followed(e5_folder, vectors, monkeypatch):
    from export.server.served_model import ServedModel

    asked, loaded = vectors
    monkeypatch.setattr(ServedModel, "similarity", "euclidean")
    _, answer = asked.post("/similarity", {"inputs": {"source_sentence": "day", "sentences": TEXTS}})
    expected = -np.linalg.norm(loaded.embed(TEXTS) - loaded.embed("day"), axis=1)
    np.testing.assert_allclose(answer, expected, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("long_texts", ["head_tail", "windows"])
def test_long_pairs_are_read_as_the_model_reads_them(tmp_path, long_texts):
    run = pair_task(tmp_path / "run", long_texts=long_texts)
    loaded = kbert.load(run.path)
    texts = ["jump the a", " ".join(["walk", "jump", "the", "a"] * 12)]
    expected = loaded.predict([("jump", text) for text in texts])
    with DevelopmentServer(run.path, "judge", 0, 0) as server:
        _, answer = Asked(server.rest_api_port).post("/rerank", {"query": "jump", "documents": texts})
    scores = {one["index"]: one["relevance_score"] for one in answer["results"]}
    for index, one in enumerate(expected):
        assert scores[index] == pytest.approx(one["prediction"], abs=1e-5)
    reader = loaded.task.long_texts.reader(loaded.text_inputs)
    rows = reader.rows(tf.constant(["jump"] * 2), tf.constant(texts))
    assert answer["usage"]["total_tokens"] == int(rows.features["input_mask"].numpy().sum())


@pytest.mark.slow
def test_input_types_choose_prompts(vectors):
    asked, loaded = vectors
    for name, prompt in (("query", "the "), ("search_query", "the "), ("document", ""), ("passage", "")):
        for field in ("input_type", "task"):
            _, answer = asked.post("/v1/embeddings", {"input": "play", field: name})
            np.testing.assert_allclose(
                answer["data"][0]["embedding"], loaded.embed(f"{prompt}play"), atol=1e-5
            )
    for body, words in (
        ({"input_type": "clustering"}, 'input_type="clustering"; the model has the prompts query, document'),
        ({"prompt_name": "clustering"}, 'prompt_name="clustering"; the model has the prompts query'),
        ({"prompt_name": "query", "input_type": "query"}, "send one of them"),
    ):
        status, answer = asked.post("/v1/embeddings", {"input": "play"} | body)
        assert status == 400 and words in answer["error"]["message"], json.dumps(answer)
