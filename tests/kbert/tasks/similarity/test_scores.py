"""Cosine regression and the scores of evaluations against small sums done by hand."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

from kbert.config.pooling_config import SIMILARITY_FUNCTIONS
from kbert.features import EXAMPLE_WEIGHTS, TARGET_FEATURE
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from kbert.tasks.similarity.multiple_negatives_ranking import MultipleNegativesRanking
from kbert.tasks.similarity.retrieval_scores import retrieval_scores
from kbert.tasks.similarity.vectors import similarities
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
    scores = retrieval_scores(texts)
    # Query 0: 10 degrees wins. Query 1: 20 is 70 away, 80 only 10, and the negative of query 0 ties at 70.
    # Query 2: 170 wins.
    assert scores["accuracy_at_1"] == pytest.approx(2 / 3)
    assert scores["mrr"] == pytest.approx((1 + (1 / 2 + 1 / 3) / 2 + 1) / 3)
    assert scores["triplet_accuracy"] == pytest.approx(2 / 3)


def test_many_queries_are_ranked_as_a_loop_ranks_them():
    texts = RNG.normal(size=(700, 2, 3))  # more than one block of queries
    units = texts / np.linalg.norm(texts, axis=-1, keepdims=True)
    cosines = units[:, 0] @ units[:, 1].T
    ranks = [1 + np.sum(np.delete(row, place) > row[place]) for place, row in enumerate(cosines)]
    scores = retrieval_scores(texts)
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


def test_a_similarity_that_is_not_known_is_named():
    with pytest.raises(ValueError, match="similarity='angle' is not known; choose one of cosine, dot"):
        similarities(directions(0), directions(0), "angle")
