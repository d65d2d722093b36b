"""Cosine regression and the scores of evaluations against small sums done by hand."""

import itertools

import numpy as np
import pytest
from scipy import sparse, stats
from scipy.spatial.distance import cdist

from kbert.config.pooling_config import SIMILARITY_FUNCTIONS
from kbert.features import EXAMPLE_WEIGHTS, TARGET_FEATURE
from kbert.inference.quantized_vectors import quantize_embeddings
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from kbert.tasks.similarity.retrieval_scores import retrieval_scores
from kbert.tasks.similarity.text_similarities import DenseSimilarities
from kbert.tasks.similarity.vectors import require_vectors, similarities
from kbert.tasks.task import Predictions
from tests.kbert.tasks.test_losses import evaluate

RNG = np.random.default_rng(3)


def directions(*degrees):
    angles = np.deg2rad(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def test_the_loss_of_cosine_regression():
    # Cosines 1, 0 and -1, whatever the lengths of the vectors; the last row only fills the batch.
    first, second = directions(0, 0, 0, 0), directions(0, 90, 180, 45) * [[2.0], [3.0], [0.5], [1.0]]
    outputs = {"embeddings": np.stack([first, second], axis=1).astype(np.float32)}
    batch = {
        "input_ids": np.zeros((4, 2, 3), np.int32),
        TARGET_FEATURE: np.float32([0.5, 0.5, 0.0, 0.9]),
        EXAMPLE_WEIGHTS: np.float32([1, 1, 1, 0]),
    }
    assert evaluate(CosineSimilarity(), outputs, batch)["loss"] == pytest.approx((0.25 + 0.25 + 1.0) / 3)


def test_correlations_of_both_tasks_are_scipys():
    texts, scores = RNG.normal(size=(9, 2, 4)), RNG.uniform(size=9)
    units = texts / np.linalg.norm(texts, axis=-1, keepdims=True)
    cosines = np.sum(units[:, 0] * units[:, 1], axis=-1)
    expected = {
        "pearson": stats.pearsonr(cosines, scores).statistic,
        "spearman": stats.spearmanr(cosines, scores).statistic,
    }
    regression = {"cosine": cosines, TARGET_FEATURE: scores}
    assert CosineSimilarity().score(None, Predictions(regression, np.arange(9))) == pytest.approx(expected)
    ranking = {"embeddings": texts, TARGET_FEATURE: scores}
    found = MultipleNegativesRanking().score(None, Predictions(ranking, np.arange(9)))
    assert found == pytest.approx(expected)


def test_ranks_of_the_positives():
    """Three queries at 0, 90 and 180 degrees; the second's positive is the third best of its candidates."""
    queries, positives = directions(0, 90, 180), directions(10, 20, 170)
    negatives = directions(20, 80, 270)
    texts = np.stack([queries, positives, negatives], axis=1)
    scores = retrieval_scores(DenseSimilarities(texts))
    # Query 0: 10 degrees wins. Query 1: 20 is 70 away, 80 only 10, and the negative of query 0 ties at 70.
    # Query 2: 170 wins.
    assert scores["accuracy_at_1"] == pytest.approx(2 / 3)
    assert scores["mrr"] == pytest.approx((1 + (1 / 2 + 1 / 3) / 2 + 1) / 3)
    assert scores["triplet_accuracy"] == pytest.approx(2 / 3)


def by_hand(queries, relevant, corpus):
    """sentence-transformers' InformationRetrievalEvaluator on text -> vector: (accuracy@1, MRR)."""
    first, inverse = [], []
    for query, vector in queries.items():
        ranking = sorted(corpus, key=lambda text: -float(corpus[text] @ vector))
        ranks = [place for place, text in enumerate(ranking, 1) if text in relevant[query]]
        first.append(min(ranks) == 1)
        inverse.append(1 / min(ranks))
    return np.mean(first), np.mean(inverse)


def test_equal_texts_are_one_query_or_one_candidate():
    rng = np.random.default_rng(5)
    vectors = {text: vector / np.linalg.norm(vector) for text, vector in enumerate(rng.normal(size=(60, 4)))}
    # Queries, positives and negatives of 40 rows; a query may also be a candidate.
    rows = np.stack([rng.integers(0, 20, 40), rng.integers(10, 40, 40), rng.integers(30, 60, 40)], axis=1)
    relevant: dict = {}
    for query, positive, _ in rows.tolist():
        relevant.setdefault(query, set()).add(positive)
    relevant = {query: right for query, right in relevant.items() if query not in right}
    corpus = {text: vectors[text] for text in rows[:, 1:].ravel().tolist()}
    expected = by_hand({query: vectors[query] for query in relevant}, relevant, corpus)
    embeddings = np.array([[vectors[text] for text in row] for row in rows.tolist()])
    scores = retrieval_scores(DenseSimilarities(embeddings), rows)
    assert (scores["accuracy_at_1"], scores["mrr"]) == pytest.approx(expected)


def test_a_negative_that_is_right_for_its_query_in_another_row_is_not_wrong():
    """The query at 0 degrees has the positives at 10 and 30; the second row calls the first one negative."""
    embeddings = np.stack([directions(0, 0, 90), directions(10, 30, 80), directions(20, 10, 70)], axis=1)
    texts = np.array([[0, 1, 2], [0, 3, 1], [4, 5, 6]])
    assert retrieval_scores(DenseSimilarities(embeddings), texts)["triplet_accuracy"] == 1.0
    assert "triplet_accuracy" not in retrieval_scores(
        DenseSimilarities(embeddings[:2]), np.array([[0, 1, 3], [0, 3, 1]])
    )


def test_a_query_whose_candidates_are_all_right_has_no_rank():
    """Random vectors had an `mrr` of 1.0 on a development part of one query."""
    embeddings = RNG.normal(size=(3, 2, 4))
    assert retrieval_scores(DenseSimilarities(embeddings), np.array([[0, 1], [0, 2], [0, 3]])) == {}
    embeddings[2] = embeddings[0][::-1]  # the third row's query is the first one's positive
    of_all = retrieval_scores(DenseSimilarities(embeddings), np.array([[0, 1], [0, 2], [1, 0]]))
    assert set(of_all) == {"accuracy_at_1", "mrr"}


def test_a_query_that_is_its_own_positive_has_no_rank():
    """Rows of SimCSE had an `mrr` of 1.0 with any vectors."""
    embeddings = RNG.normal(size=(6, 3, 4))
    embeddings[:3, 1] = embeddings[:3, 0]
    numbers = np.arange(18).reshape(6, 3)
    numbers[:3, 1] = numbers[:3, 0]
    similar = DenseSimilarities(embeddings)
    assert retrieval_scores(similar, numbers, np.arange(3)) == {}
    scores = retrieval_scores(similar, numbers)
    candidates = embeddings[:, 1:].reshape(-1, 4)
    ranked = np.argsort(-similarities(embeddings[3:, 0], candidates, "cosine"), axis=1).tolist()
    ranks = np.array([1 + row.index(2 * number) for number, row in enumerate(ranked, 3)])
    assert scores["mrr"] == pytest.approx(np.mean(1 / ranks))
    assert scores["accuracy_at_1"] == pytest.approx(np.mean(ranks == 1))
    others = retrieval_scores(similar, numbers, np.arange(3, 6))
    assert scores["triplet_accuracy"] == others["triplet_accuracy"]


def test_vectors_that_are_no_numbers_rank_by_chance():
    """The loss of the evaluation says what is wrong; a division by zero came before it."""
    scores = retrieval_scores(DenseSimilarities(np.full((3, 2, 4), np.nan)))
    assert scores == pytest.approx({"accuracy_at_1": 1 / 3, "mrr": (1 + 1 / 2 + 1 / 3) / 3})


def test_positives_that_tie_with_others_share_the_ranks():
    """One query with two positives among five equal vectors: as drawn, 2 of 5 come first."""
    texts = np.array([[0, 1], [0, 2], [3, 4], [5, 6], [7, 8]])
    embeddings = np.ones((5, 2, 3)) + 1e-8 * RNG.normal(size=(5, 2, 3))
    scores = retrieval_scores(DenseSimilarities(embeddings), texts)
    orders = [*itertools.permutations([1, 1, 0, 0, 0])]
    first = np.mean([order[0] for order in orders])
    inverse = np.mean([1 / (1 + order.index(1)) for order in orders])
    assert scores["accuracy_at_1"] == pytest.approx((first + 3 / 5) / 4)
    assert scores["mrr"] == pytest.approx((inverse + 3 * np.mean(1 / np.arange(1, 6))) / 4)


@pytest.mark.parametrize("function", SIMILARITY_FUNCTIONS)
def test_texts_are_ranked_by_the_similarity_that_the_model_names(function):
    """As `rank` orders them."""
    texts = RNG.normal(size=(40, 3, 4)) * RNG.uniform(1, 9, size=(40, 3, 1))
    candidates = texts[:, 1:].reshape(-1, 4)  # positive, negative, positive, ...
    scores = similarities(texts[:, 0], candidates, function)
    right = scores[np.arange(40), 2 * np.arange(40)]
    ranks = 1 + (scores > right[:, None]).sum(axis=1)
    triplets = right > scores[np.arange(40), 2 * np.arange(40) + 1]
    task = MultipleNegativesRanking(num_negatives=1, further_pooling={"similarity_fn_name": function})
    values = {"embeddings": texts, TARGET_FEATURE: np.full(40, np.nan)}
    found = task.score(None, Predictions(values, np.arange(40)))
    assert found["mrr"] == pytest.approx(np.mean(1 / ranks), abs=1e-6)
    assert found["accuracy_at_1"] == pytest.approx(np.mean(ranks == 1))
    assert found["triplet_accuracy"] == pytest.approx(np.mean(triplets))


def test_many_queries_are_ranked_as_a_loop_ranks_them():
    texts = RNG.normal(size=(700, 2, 3))  # more than one block of queries
    units = texts / np.linalg.norm(texts, axis=-1, keepdims=True)
    cosines = units[:, 0] @ units[:, 1].T
    ranks = [1 + np.sum(np.delete(row, place) > row[place]) for place, row in enumerate(cosines)]
    scores = retrieval_scores(DenseSimilarities(texts))
    assert scores["mrr"] == pytest.approx(np.mean(1 / np.array(ranks)), rel=1e-3)
    assert scores["accuracy_at_1"] == pytest.approx(np.mean(np.array(ranks) == 1), abs=2e-3)


@pytest.mark.parametrize("function", SIMILARITY_FUNCTIONS)
def test_similarities_are_scipys(function):
    queries, texts = RNG.normal(size=(2, 8)), RNG.normal(size=(5, 8))
    expected = {
        "cosine": lambda: 1 - cdist(queries, texts, "cosine"),
        "dot": lambda: queries @ texts.T,
        "euclidean": lambda: -cdist(queries, texts),
        "manhattan": lambda: -cdist(queries, texts, "cityblock"),
    }[function]()
    np.testing.assert_allclose(similarities(queries, texts, function), expected, atol=1e-5)


@pytest.mark.parametrize(
    "sides",
    [
        (np.zeros((2, 3)), np.zeros((4, 5))),
        (sparse.csr_array((2, 3)), sparse.csr_array((1, 5))),
        ([np.zeros((1, 3))], [np.zeros((2, 3)), np.zeros((2, 5))]),
    ],
)
def test_vectors_of_two_widths_are_refused(sides):
    require_vectors(sides[0], sides[0], may_be_sparse=True)
    with pytest.raises(ValueError, match="vectors of 3 and of 5 numbers"):
        require_vectors(*sides, may_be_sparse=True)


@pytest.mark.parametrize("precision", ["int8", "ubinary"])
def test_quantized_vectors_are_refused(precision):
    """Bytes of eight signs have a cosine, which says nothing."""
    quantized = quantize_embeddings(RNG.normal(size=(4, 16)).astype(np.float32), precision)
    with pytest.raises(ValueError, match="texts: received quantized vectors.*give the vectors of embed"):
        require_vectors(np.zeros((2, quantized.shape[1])), list(quantized))
