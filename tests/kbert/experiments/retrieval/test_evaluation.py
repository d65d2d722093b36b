"""A collection judged as a whole: the means of its queries, BM25 beside them, and a page of failures."""

import numpy as np
import pytest

from kbert.experiments.retrieval import evaluation, retrievers
from kbert.experiments.retrieval.collection import read_collection
from kbert.tasks.ranking_scores import ranking_scores
from tests.kbert.experiments.retrieval.test_collection import CORPUS, QRELS, write
from tests.kbert.experiments.retrieval.vectors_of_letters import LetterVectors

WORDS = ("hedges", "ice", "a jade")
MORE = [{"_id": f"m{n}", "text": f"a text about {word}"} for n, word in enumerate(WORDS)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "make_retriever", lambda *_: retrievers.VectorRetriever(LetterVectors()))
    return write(tmp_path, corpus=[*CORPUS, *MORE], qrels=[*QRELS, "2\tm1\t2"])


def test_metrics_are_means_over_queries(files, tmp_path):
    found = evaluation.evaluate_retrieval("letters", *files, html_file=tmp_path / "page.html")
    collection, model, every = read_collection(*files), LetterVectors(), []
    scores = model.similarity(model.embed(collection.queries), model.embed(collection.texts))
    for row, gains in zip(scores, collection.judgments, strict=True):
        order = np.argsort(-row, kind="stable")
        ranked = np.array([gains.get(int(n), 0) for n in order])
        every.append(ranking_scores(row[order], ranked, np.array([*gains.values()])))
    for name in every[0]:
        assert found[name] == pytest.approx(np.mean([one[name] for one in every]), abs=1e-9)
    assert found["num_queries"] == 2 and found["num_texts"] == 5
    page = (tmp_path / "page.html").read_text()
    assert "2 queries in 5 texts" in page and "what rolls" in page and "Queries that fail" in page


def test_how_a_model_is_read_is_passed_on(files, monkeypatch):
    monkeypatch.undo()
    for reading in ({"checkpoint": "best"}, {"do_lower_case": True}, {"allow_unmatched": "pooling"}):
        with pytest.raises(ValueError, match="are of a model, and BM25 is none"):
            evaluation.evaluate_retrieval("bm25", *files, **reading)


def test_a_page_replaces_nothing_that_is_read(files):
    before = files[1].read_bytes()
    with pytest.raises(ValueError, match="is the input"):
        evaluation.evaluate_retrieval("letters", *files, html_file=files[1])
    assert files[1].read_bytes() == before


def test_bm25_is_the_baseline_and_a_model_of_its_own(files, monkeypatch):
    pytest.importorskip("bm25s")
    beside = evaluation.evaluate_retrieval("letters", *files)
    monkeypatch.undo()
    own = evaluation.evaluate_retrieval("bm25", *files)
    assert own["ndcg_at_10"] == beside["baseline_ndcg_at_10"] and "baseline_ndcg_at_10" not in own


def test_a_baseline_that_does_not_end_costs_no_score_of_the_model(files, monkeypatch, caplog):
    def stopped(*_):
        raise KeyboardInterrupt

    pytest.importorskip("bm25s")
    monkeypatch.setattr(retrievers.Bm25Retriever, "find", stopped)
    with caplog.at_level("INFO", "absl"), pytest.raises(KeyboardInterrupt):
        evaluation.evaluate_retrieval("letters", *files)
    assert "ndcg_at_10 0." in caplog.text and "BM25, is next" in caplog.text


def test_a_query_that_is_a_text_of_the_corpus_does_not_find_itself(files):
    one_query, folder = QRELS[:4], files[0].parent
    expected = evaluation.evaluate_retrieval(
        "letters", *write(folder, corpus=[*CORPUS, *MORE], qrels=one_query)
    )
    for own in ({"_id": "q1", "text": "what flies"}, {"_id": "q1", "title": "A b", "text": "what flies"}):
        paths = write(folder, corpus=[*CORPUS, *MORE, own], qrels=one_query)
        found = evaluation.evaluate_retrieval("letters", *paths)
        assert found == pytest.approx(expected | {"num_texts": 6})


def test_a_cross_encoder_reads_as_many_texts_beside_a_query_that_is_a_text(files, monkeypatch):
    read = []

    class Judge(LetterVectors):
        def rank(self, query, texts, raw_scores=False):
            read.append(len(texts))
            return super().rank(query, texts, raw_scores)

    def retriever(*_):
        return retrievers.RerankingRetriever(Judge(), retrievers.VectorRetriever(LetterVectors()))

    monkeypatch.setattr(evaluation, "make_retriever", retriever)
    monkeypatch.setattr(evaluation, "DEPTH", 3)
    own = {"_id": "q1", "text": "what flies"}
    evaluation.evaluate_retrieval("letters", *write(files[0].parent, corpus=[*CORPUS, *MORE, own]))
    assert read == [3, 3]


def test_the_order_of_a_corpus_decides_nothing(files):
    """All of 150 texts have the same letters, so the same score; one in three is relevant."""
    corpus = [{"_id": str(n), "text": f"a{' ' * n}b{n % 2}"} for n in range(150)]
    qrels = [QRELS[0], *(f"q1\t{n}\t1" for n in range(0, 150, 3))]
    found = [
        evaluation.evaluate_retrieval("letters", *write(files[0].parent, corpus=texts, qrels=qrels))
        for texts in (corpus, corpus[::-1])
    ]
    assert found[0] == pytest.approx(found[1])
    assert found[0]["recall_at_100"] == pytest.approx(100 / 150)


def test_a_text_that_shares_a_number_with_a_query_is_found(files):
    corpus = [*CORPUS, *MORE, {"_id": "2", "text": "what falls"}]
    found = read_collection(*write(files[0].parent, corpus=corpus))
    assert found.own_texts == [-1, -1]
    corpus = [*CORPUS, {"_id": "2", "text": "what rolls"}]
    assert read_collection(*write(files[0].parent, corpus=corpus)).own_texts == [-1, 2]
    judged = write(files[0].parent, corpus=corpus, qrels=[*QRELS, "2\t2\t1"])
    assert read_collection(*judged).own_texts == [-1, -1]
