"""Scores of rankings: equal to plain loops over ranks, and to the mean over all orders of equal scores."""

import itertools
import math

import numpy as np
import pytest

from kbert.tasks.ranking_scores import ranking_scores


def by_loops(gains, judged):
    """The definitions, rank by rank."""
    ranks = [rank for rank, gain in enumerate(gains, start=1) if gain > 0]
    best = sorted(judged, reverse=True)[:10]
    dcg, ideal = (
        sum(gain / math.log2(rank + 1) for rank, gain in enumerate(values[:10], start=1))
        for values in (gains, best)
    )
    precisions = [sum(other <= rank for other in ranks) / rank for rank in ranks]
    return {
        "ndcg_at_10": dcg / ideal,
        "mrr_at_10": 1 / ranks[0] if ranks and ranks[0] <= 10 else 0.0,
        "map_at_100": sum(precisions) / min(100, len(judged)),
        "recall_at_100": len(ranks) / len(judged),
        "recall_at_10": sum(rank <= 10 for rank in ranks) / len(judged),
        "accuracy_at_1": float(bool(ranks) and ranks[0] == 1),
    }


@pytest.mark.parametrize("seed", range(5))
def test_scores_are_those_of_loops_over_ranks(seed):
    rng = np.random.default_rng(seed)
    gains = rng.choice([0, 0, 0, 1, 2], size=60)
    judged = np.concatenate([gains[gains > 0], rng.choice([1, 3], size=rng.integers(1, 4))])
    scores = np.sort(rng.normal(size=60))[::-1]
    assert ranking_scores(scores, gains, judged) == pytest.approx(by_loops(gains, judged), abs=1e-12)


@pytest.mark.parametrize("sizes", [(4,), (1, 3, 2), (2, 4), (3, 1, 2)])
def test_equal_scores_are_in_random_order(sizes):
    rng = np.random.default_rng(len(sizes))
    gains = rng.permutation([0, 2, 1, 0, 1, 0][: sum(sizes)]).astype(float)
    judged = np.concatenate([gains[gains > 0], [1.0]])
    scores = np.repeat(-np.arange(len(sizes), dtype=float), sizes)
    groups = np.split(gains, np.cumsum(sizes)[:-1])
    orders = [np.concatenate(order) for order in itertools.product(*map(itertools.permutations, groups))]
    every = [by_loops(order, judged) for order in orders]
    expected = {name: np.mean([one[name] for one in every]) for name in every[0]}
    assert ranking_scores(scores, gains, judged) == pytest.approx(expected, abs=1e-12)
