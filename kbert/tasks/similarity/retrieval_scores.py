"""How well queries find their positives among all texts of an evaluation, in NumPy."""

import functools
from typing import NamedTuple

import numpy as np

from kbert.tasks.correlations import correlations

_QUERIES_AT_ONCE = 512
# Equal texts have equal cosines but for rounding, which depends on the batches that they stood in.
_TIE = 1e-6


def embedding_scores(
    embeddings: np.ndarray, targets: np.ndarray, texts: np.ndarray | None = None
) -> dict[str, float]:
    """`retrieval_scores` of rows without a score; `pearson` and `spearman` of rows with one.

    Args:
      embeddings: float array of shape (rows, texts, width).
      targets: float array of shape (rows,): the scores, NaN where a row has none.
      texts: as for `retrieval_scores`.
    """
    ranked, scores = np.isnan(targets), {}
    if ranked.any():
        scores |= retrieval_scores(embeddings[ranked], None if texts is None else texts[ranked])
    if not ranked.all():
        first, second = (embeddings[~ranked, index].astype(np.float64) for index in (0, 1))
        norms = np.linalg.norm(first, axis=-1) * np.linalg.norm(second, axis=-1)
        scores |= correlations(np.sum(first * second, axis=-1) / norms, targets[~ranked])
    return scores


def retrieval_scores(embeddings: np.ndarray, texts: np.ndarray | None = None) -> dict[str, float]:
    """Ranks for each query the candidates, all positives and negatives of the evaluation, by their cosine.

    Equal queries are one query, which has the positives of all its rows; equal candidates are one. A
    candidate that is equal to the query is one like any other.

    Args:
      embeddings: float array of shape (rows, texts, width): query, positive, negatives.
      texts: integer array of shape (rows, texts), the same number for equal texts; None where all differ.

    Returns:
      `accuracy_at_1`, the share of queries with a positive in the first place; `mrr`, the mean of 1 / the
      rank of the first positive; and with negatives `triplet_accuracy`, the share of negatives that are less
      similar to their query than the positive of their row. Candidates as similar as the best positive (to
      1e-6) share their ranks at random: what is returned is the expected value. So a model that gives all
      texts the same vector gains nothing.

    Reference: sentence-transformers, evaluation/InformationRetrievalEvaluator.py (accuracy@1, MRR@k with k
    the number of candidates), which leaves ties to the order of its candidates.
    """
    units = embeddings / np.maximum(np.linalg.norm(embeddings, axis=-1, keepdims=True), 1e-12)
    if texts is None:
        texts = np.arange(units.shape[0] * units.shape[1]).reshape(units.shape[:2])
    judged = _judged(units, texts)
    ranks = [*judged.ranks()]
    scores = {
        "accuracy_at_1": float(np.mean([rank.is_first() for rank in ranks])),
        "mrr": float(np.mean([rank.mean_inverse() for rank in ranks])),
    }
    if units.shape[1] > 2:
        gaps = np.einsum("rw,rnw->rn", units[:, 0], units[:, 1:2] - units[:, 2:])
        gaps = gaps[judged.are_wrong(texts)]
        if gaps.size:
            scores["triplet_accuracy"] = float(np.mean((gaps > _TIE) + 0.5 * (np.abs(gaps) <= _TIE)))
    return scores


class _Rank(NamedTuple):
    """Where the positives of a query are.

    Fields:
      above: how many wrong candidates are more similar than the best positive.
      wrong, right: how many wrong ones, and how many positives, are as similar as that; itself included.
    """

    above: int
    wrong: int
    right: int

    def is_first(self) -> float:
        """How probable it is that a positive stands first."""
        return self.right / (self.wrong + self.right) if self.above == 0 else 0.0

    def mean_inverse(self) -> float:
        """The expected 1 / rank of the first positive."""
        return _mean_inverse(*self)


@functools.lru_cache(maxsize=1024)
def _mean_inverse(above, wrong, right) -> float:
    # The first k of the equally similar ones are wrong with the probability of k draws without a positive.
    left = np.arange(wrong, 0, -1)
    all_wrong = np.concatenate([[1.0], np.cumprod(left / (left + right))])
    then_right = right / (right + np.arange(wrong, -1, -1))
    return float(np.sum(all_wrong * then_right / (above + 1 + np.arange(wrong + 1))))


class _Judged(NamedTuple):
    """Queries and candidates, each once.

    Fields:
      queries, candidates: float arrays (number, width) of length 1.
      query_numbers, candidate_numbers: which number of the texts each has, ascending.
      positives: int array (2, number): a query and a candidate that is right for it, as positions.
    """

    queries: np.ndarray
    candidates: np.ndarray
    query_numbers: np.ndarray
    candidate_numbers: np.ndarray
    positives: np.ndarray

    def ranks(self):
        """The `_Rank` of each query."""
        for first in range(0, len(self.queries), _QUERIES_AT_ONCE):
            yield from self._some_ranks(first)

    def _some_ranks(self, first):
        cosines = self.queries[first : first + _QUERIES_AT_ONCE] @ self.candidates.T
        is_right = np.zeros(cosines.shape, bool)
        query, candidate = self.positives
        here = (query >= first) & (query < first + len(cosines))
        is_right[query[here] - first, candidate[here]] = True
        best = np.where(is_right, cosines, -np.inf).max(axis=1, keepdims=True)
        above, tied = cosines - best > _TIE, np.abs(cosines - best) <= _TIE
        counts = (above & ~is_right), (tied & ~is_right), (tied & is_right)
        return map(_Rank, *(count.sum(axis=1).tolist() for count in counts))

    def are_wrong(self, texts):
        """Which negatives of rows are no positives of their query: bool (rows, negatives)."""
        pairs = self.positives[0] * len(self.candidates) + self.positives[1]
        query = np.searchsorted(self.query_numbers, texts[:, :1])
        negatives = np.searchsorted(self.candidate_numbers, texts[:, 2:])
        return ~np.isin(query * len(self.candidates) + negatives, pairs)


def _judged(units, texts) -> _Judged:
    query_numbers, first_query, query = np.unique(texts[:, 0], return_index=True, return_inverse=True)
    others = texts[:, 1:].ravel()
    candidate_numbers, first_candidate = np.unique(others, return_index=True)
    return _Judged(
        queries=units[first_query, 0],
        candidates=units[:, 1:].reshape(-1, units.shape[-1])[first_candidate],
        query_numbers=query_numbers,
        candidate_numbers=candidate_numbers,
        positives=np.stack([query.ravel(), np.searchsorted(candidate_numbers, texts[:, 1])]),
    )
