"""How good a ranking is: nDCG, MRR, MAP, recall, accuracy, in NumPy.

Texts with equal scores share their ranks at random, and every score is the expected value: the order in a
file decides nothing, and equal scores for all texts gain nothing. For sums over ranks see McSherry and
Najork, "Computing Information Retrieval Performance Measures Efficiently in the Presence of Tied Scores"
(ECIR 2008).
"""

import functools

import numpy as np

_DISCOUNTS = 1 / np.log2(np.arange(2, 12))  # of ranks 1 to 10
TIE = 1e-6


def ranking_scores(scores: np.ndarray, gains: np.ndarray, judged: np.ndarray) -> dict[str, float]:
    """The scores of one query's ranking.

    Args:
      scores: float array (k,), in descending order: the first 100 texts or more, and all that are as good as
        the last one.
      gains: float array (k,): the gain of each, 0 for a text that is not relevant.
      judged: float array: the gains of all relevant texts, each above 0.

    Returns:
      `ndcg_at_10` (gains over log2(1 + rank), divided by that of the best order), `mrr_at_10` (1 / the rank
      of the first relevant text, 0 below rank 10), `map_at_100` (the mean of the precision at the rank of
      each relevant text, over at most 100), `recall_at_100`, `recall_at_10` and `accuracy_at_1`.

    Reference: sentence-transformers, evaluation/InformationRetrievalEvaluator.py, whose gains are 0 or 1.
    """
    tied = _Ties(np.asarray(scores, np.float64), np.asarray(gains, np.float64))
    first, best = tied.gains[:10], np.sort(judged)[::-1][:10]
    return {
        "ndcg_at_10": float(first @ _DISCOUNTS[: len(first)] / (best @ _DISCOUNTS[: len(best)])),
        "mrr_at_10": tied.mean_inverse(10),
        "map_at_100": float(tied.precisions[:100].sum() / min(100, len(judged))),
        "recall_at_100": float(tied.relevant[:100].sum() / len(judged)),
        "recall_at_10": float(tied.relevant[:10].sum() / len(judged)),
        "accuracy_at_1": float(tied.relevant[:1].sum()),
    }  # fmt: skip


def means(every: list[dict[str, float]]) -> dict[str, float]:
    """The mean of each score over all queries."""
    return {name: float(np.mean([scores[name] for scores in every])) for name in every[0]}


def tie(scores):
    """How far below a score another is still equal to it.

    Equal texts score equally but for rounding, which depends on the batches that they stood in.
    """
    return TIE * np.maximum(1.0, np.abs(scores))


@functools.lru_cache(maxsize=1024)
def mean_inverse_rank(above: int, wrong: int, right: int, depth: float = np.inf) -> float:
    """The expected 1 / rank of the first relevant text, 0 where it stands below `depth`.

    Args:
      above: how many wrong texts have a higher score than the best relevant one.
      wrong, right: how many wrong texts, and how many relevant ones, have that score, in random order.
    """
    # The first n of equal scores are wrong with the probability of n draws without a relevant text.
    left = np.arange(wrong, 0, -1)
    all_wrong = np.concatenate([[1.0], np.cumprod(left / (left + right))])
    then_right = right / (right + np.arange(wrong, -1, -1))
    ranks = above + 1 + np.arange(wrong + 1)
    return float(np.sum((all_wrong * then_right / ranks)[ranks <= depth]))


class _Ties:
    """Expected values at each rank of a ranking in which equal scores are in random order.

    Attributes:
      gains: the gain.
      relevant: the probability that a relevant text stands there.
      precisions: the precision there where a relevant text stands there, else 0.
    """

    def __init__(self, scores, gains):
        falls = np.diff(scores) < -tie(scores[:-1])
        group = np.concatenate([[0], np.cumsum(falls)]).astype(int)[: len(scores)]
        self._size, self._right = np.bincount(group), np.bincount(group, gains > 0)
        self._first = np.cumsum(self._size) - self._size
        size, right = self._size[group], self._right[group]
        self.gains = np.bincount(group, gains)[group] / size
        self.relevant = right / size
        before = (np.cumsum(self._right) - self._right)[group]
        within = np.arange(len(scores)) - self._first[group]
        others = within * (right - 1) / np.maximum(size - 1, 1)
        self.precisions = self.relevant * (before + 1 + others) / np.arange(1, len(scores) + 1)

    def mean_inverse(self, depth: int) -> float:
        """The expected 1 / rank of the first relevant text, 0 where it stands below `depth`."""
        hit = np.flatnonzero(self._right)
        if not len(hit):
            return 0.0
        size, right, first = (int(part[hit[0]]) for part in (self._size, self._right, self._first))
        return mean_inverse_rank(first, size - right, right, depth)
