"""Search in blocks finds what a search in all texts at once finds."""

import numpy as np
import pytest

from kbert.experiments.retrieval.search import Best, scores_of_queries
from kbert.tasks.ranking_scores import ranking_scores


@pytest.mark.parametrize("block", [1, 3, 7, 50])
def test_blocks_find_what_one_search_finds(block):
    rng = np.random.default_rng(block)
    scores = rng.normal(size=(4, 50)).astype(np.float32).round(1)  # of equal ones the first are found
    best = Best(4, 9)
    for first in range(0, 50, block):
        best.add(scores[:, first : first + block], np.arange(first, min(50, first + block)))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :9]
    np.testing.assert_array_equal(best.positions, order)
    np.testing.assert_array_equal(best.scores, np.take_along_axis(scores, order, 1))


def test_texts_that_a_query_is_not_to_find_have_no_position():
    best = Best(2, 3)
    best.add(np.array([[1.0, -np.inf], [-np.inf, -np.inf]]), np.array([5, 6]))
    assert best.positions.tolist() == [[5, -1, -1], [-1, -1, -1]]


def test_texts_are_sorted_once_behind_all_of_them(monkeypatch):
    sorts, lexsort = [], np.lexsort
    monkeypatch.setattr(np, "lexsort", lambda keys, **kwargs: sorts.append(keys) or lexsort(keys, **kwargs))
    best = Best(2, 40)
    for first in range(0, 90, 9):
        best.add(np.arange(first, first + 9) % 7 * np.ones((2, 1)), np.arange(first, first + 9))
    assert not sorts and best.scores[:, 0].tolist() == [6, 6] and best.positions[:, 0].tolist() == [6, 6]
    assert len(sorts) == 2


@pytest.mark.parametrize("values", [1, 3, 30])
@pytest.mark.parametrize("block", [7, 300])
def test_ties_across_the_depth_count_as_if_all_texts_were_found(values, block):
    """Of few different scores more than the depth are equal, but for rounding."""
    rng = np.random.default_rng(values)
    scores = rng.integers(0, values, (5, 300)) + rng.uniform(0, 2e-7, (5, 300))
    judgments = [{int(n): 1.0 + n % 2 for n in rng.choice(299, 40, replace=False)} for _ in range(5)]
    best = Best(5, 100, own_texts=[299, -1, 299, -1, -1], judgments=judgments)
    for first in range(0, 300, block):
        texts = np.arange(first, min(300, first + block))
        for query in (0, 3):
            best.add(scores[query : query + 3, texts][: 5 - query], texts, query)
    scores[[0, 2], 299] = -1
    expected = []
    for row, gains in zip(scores, judgments, strict=True):
        order = np.argsort(-row)
        ranked = np.array([gains.get(int(text), 0.0) for text in order])
        expected.append(ranking_scores(row[order], ranked, np.array([*gains.values()])))
    for found, whole in zip(scores_of_queries(best, judgments), expected, strict=True):
        assert found == pytest.approx(whole, abs=1e-9)
