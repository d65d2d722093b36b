"""How well queries find their positives among all texts of an evaluation, in NumPy."""

import itertools
from typing import NamedTuple

import numpy as np

from kbert.tasks.correlations import correlations
from kbert.tasks.ranking_scores import mean_inverse_rank, tie
from kbert.tasks.similarity.text_similarities import TextSimilarities

_QUERIES_AT_ONCE = 512


def embedding_scores(
    similar: TextSimilarities, targets: np.ndarray, texts: np.ndarray | None
) -> dict[str, float]:
    """`retrieval_scores` of rows without a score; `pearson` and `spearman` of the similarities of rows with
    one.

    Args:
      similar, texts: as for `retrieval_scores`.
      targets: float array of shape (rows,): the scores, NaN where a row has none.
    """
    ranked, scores = np.isnan(targets), {}
    if ranked.any():
        scores |= retrieval_scores(similar, texts, np.flatnonzero(ranked))
    if not ranked.all():
        first = np.flatnonzero(~ranked) * similar.shape[1]
        scores |= correlations(similar.by_pairs(first, first + 1), targets[~ranked])
    return scores


def retrieval_scores(
    similar: TextSimilarities, texts: np.ndarray | None = None, rows: np.ndarray | None = None
) -> dict[str, float]:
    """Ranks for each query the candidates, all positives and negatives of the evaluation.

    Equal queries are one query, which has the positives of all its rows; equal candidates are one. A wrong
    candidate that is equal to the query is one like any other. What any model gets right has no rank: a query
    that is its own positive, as in SimCSE, and one all of whose candidates are right for it.

    Args:
      similar: how similar the texts of the rows are: query, positive, negatives.
      texts: integer array of shape (rows, texts), the same number for equal texts; None where all differ.
      rows: which rows are ranked, by their positions; None ranks all.

    Returns:
      `accuracy_at_1`, the share of queries with a positive in the first place; `mrr`, the mean of 1 / the
      rank of the first positive; and with negatives `triplet_accuracy`, the share of negatives that are less
      similar to their query than the positive of their row. Candidates as similar as the best positive (to
      1e-6 of it, where that is above 1) share their ranks at random: what is returned is the expected value.
      So a model that gives all texts the same vector gains nothing.

    Reference: sentence-transformers, evaluation/InformationRetrievalEvaluator.py (accuracy@1, MRR@k with k
    the number of candidates), which leaves ties to the order of its candidates.
    """
    positions = np.arange(np.prod(similar.shape)).reshape(similar.shape)
    texts = positions if texts is None else texts
    if rows is not None:
        positions, texts = positions[rows], texts[rows]
    judged = _judged(similar, positions, texts)
    scores = {}
    if ranks := [*judged.ranks()]:
        scores["accuracy_at_1"] = float(np.mean([rank.is_first() for rank in ranks]))
        scores["mrr"] = float(np.mean([mean_inverse_rank(*rank) for rank in ranks]))
    if positions.shape[1] > 2:
        in_rows = np.concatenate([similar.between(row[:1], row[1:]) for row in positions])
        positive, others = np.split(in_rows, [1], axis=1)
        gaps, equal = positive - others, np.broadcast_to(tie(positive), others.shape)
        wrong = _are_wrong(texts)
        gaps, equal = gaps[wrong], equal[wrong]
        if gaps.size:
            scores["triplet_accuracy"] = float(np.mean((gaps > equal) + 0.5 * (np.abs(gaps) <= equal)))
    return scores


def may_be_wrong(texts: np.ndarray) -> bool:
    """Whether `retrieval_scores` ranks any query of rows with these numbers of texts."""
    return bool(_judged(None, texts, texts).may_be_wrong.any())


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


class _Judged(NamedTuple):
    """Queries and candidates, each once.

    Fields:
      similar: how similar the texts are.
      queries, candidates: their positions, int arrays.
      positives: int array (2, number): a query and a candidate that is right for it, as positions.
      may_be_wrong: which queries have a wrong candidate and are no positive of their own, bool (queries,).
    """

    similar: TextSimilarities
    queries: np.ndarray
    candidates: np.ndarray
    positives: np.ndarray
    may_be_wrong: np.ndarray

    def ranks(self):
        """The `_Rank` of each query that a model may get wrong."""
        for first in range(0, len(self.queries), _QUERIES_AT_ONCE):
            yield from itertools.compress(self._some_ranks(first), self.may_be_wrong[first:])

    def _some_ranks(self, first):
        queries = self.queries[first : first + _QUERIES_AT_ONCE]
        scores = self.similar.between(queries, self.candidates)
        is_right = np.zeros(scores.shape, bool)
        query, candidate = self.positives
        here = (query >= first) & (query < first + len(scores))
        is_right[query[here] - first, candidate[here]] = True
        best = np.where(is_right, scores, -np.inf).max(axis=1, keepdims=True)
        # Similarities that are no numbers tie with all: the loss tells that they are none.
        above, tied = scores - best > tie(best), ~(np.abs(scores - best) > tie(best))
        counts = (above & ~is_right), (tied & ~is_right), (tied & is_right)
        return map(_Rank, *(count.sum(axis=1).tolist() for count in counts))


def _are_wrong(texts):
    """Which negatives are no positives of their query, beside a positive that is not the query itself: bool
    (rows, negatives)."""
    pairs = texts[:, :1] * (1 + texts.max()) + texts[:, 1:]  # a number for each query with a text
    return ~np.isin(pairs[:, 1:], pairs[:, 0]) & (texts[:, :1] != texts[:, 1:2])


def _judged(similar, positions, texts) -> _Judged:
    _, first_query, query = np.unique(texts[:, 0], return_index=True, return_inverse=True)
    candidate_numbers, first_candidate = np.unique(texts[:, 1:], return_index=True)
    positives = np.stack([query.ravel(), np.searchsorted(candidate_numbers, texts[:, 1])])
    may_be_wrong = np.bincount(np.unique(positives, axis=1)[0]) < len(candidate_numbers)
    may_be_wrong[query.ravel()[texts[:, 0] == texts[:, 1]]] = False
    return _Judged(
        similar=similar,
        queries=positions[first_query, 0],
        candidates=positions[:, 1:].ravel()[first_candidate],
        positives=positives,
        may_be_wrong=may_be_wrong,
    )
