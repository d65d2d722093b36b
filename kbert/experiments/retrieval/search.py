"""Exact search in blocks: for each query the texts with the highest scores, in bounded memory."""

from collections.abc import Mapping, Sequence

import numpy as np

from kbert.tasks.ranking_scores import ranking_scores, tie


class Best:
    """The best texts of each query among all that were added.

    Attributes:
      scores: float32 (queries, k), descending; -inf where there are fewer texts than k.
      positions: int64 of that shape: which text has each score, -1 where there is none.
      beyond: int64 (queries,): how many more texts have the score of the last one, see `tie`.

    Args:
      num_queries: how many queries.
      k: how many texts of each are kept.
      own_texts: for each query the position of a text that it is not to find, -1 for none; or None.
      judgments: as a `Collection` has them, for `gains_beyond`.
    """

    def __init__(
        self,
        num_queries: int,
        k: int,
        own_texts: Sequence[int] | None = None,
        judgments: Sequence[Mapping[int, float]] = (),
    ):
        self._scores = np.full((num_queries, k), -np.inf, np.float32)
        self._positions = np.full((num_queries, k), -1, np.int64)
        self._are_in_order = True
        self.beyond = np.zeros(num_queries, np.int64)
        self._own = np.full(num_queries, -1) if own_texts is None else np.array(own_texts)
        pairs = sorted((position, query) for query, gains in enumerate(judgments) for position in gains)
        self._judged = np.array(pairs, np.int64).reshape(-1, 2)
        self._judged_scores = np.full(len(pairs), -np.inf, np.float32)

    def add(self, scores: np.ndarray, positions: np.ndarray, first: int = 0):
        """Adds texts.

        Args:
          scores: float array (queries, texts); -inf for a text that a query is not to find.
          positions: int array (texts,), one after the other, or (queries, texts): which texts these are.
          first: the first of the queries.
        """
        rows, k = slice(first, first + len(scores)), self._scores.shape[1]
        own = positions == self._own[rows, None]
        scores = np.where(own & (positions >= 0), -np.inf, scores).astype(np.float32)
        if positions.ndim == 1:
            self._keep_judged(scores, positions, first)
        every = np.concatenate([self._scores[rows], scores], axis=1)
        positions = np.broadcast_to(positions, scores.shape)
        positions = np.concatenate([self._positions[rows], positions], axis=1)
        best = _first_of_the_best(every, positions, k)
        scores = np.take_along_axis(every, best, 1)
        last, last_before = np.min(scores, axis=1), np.min(self._scores[rows], axis=1)
        least = last - tie(last)
        left = np.sum(every >= least[:, None], axis=1) - np.sum(scores >= least[:, None], axis=1)
        left += np.where(last_before >= least, self.beyond[rows], 0)
        self.beyond[rows] = np.where(np.isneginf(last), 0, left)
        self._scores[rows] = scores
        self._positions[rows] = np.where(np.isneginf(scores), -1, np.take_along_axis(positions, best, 1))
        self._are_in_order = False

    @property
    def scores(self) -> np.ndarray:
        return self._in_order()[0]

    @property
    def positions(self) -> np.ndarray:
        return self._in_order()[1]

    def _in_order(self):
        """The scores and the positions, sorted once behind all texts: to sort deep rankings with each block
        of texts takes longer than the search."""
        if not self._are_in_order:
            for scores, positions in zip(self._scores, self._positions, strict=True):
                order = np.lexsort((positions, -scores))
                scores[:], positions[:] = scores[order], positions[order]
            self._are_in_order = True
        return self._scores, self._positions

    def _keep_judged(self, scores, positions, first):
        begin, end = np.searchsorted(self._judged[:, 0], [positions[0], positions[-1] + 1])
        text, query = self._judged[begin:end].T - [[positions[0]], [first]]
        here = (query >= 0) & (query < len(scores))
        self._judged_scores[begin:end][here] = scores[query[here], text[here]]

    def gains_beyond(self, query: int, gains: Mapping[int, float]) -> list[float]:
        """The gains of all texts `beyond`."""
        least = self.scores[query, -1] - tie(self.scores[query, -1])
        tied = self._judged[(self._judged[:, 1] == query) & (self._judged_scores >= least), 0]
        relevant = [gains[text] for text in np.setdiff1d(tied, self.positions[query]).tolist()]
        return relevant + [0.0] * (int(self.beyond[query]) - len(relevant))


def _first_of_the_best(scores, positions, k):
    """The columns of the `k` highest scores of each row; of equal ones at the edge, those of the smallest
    positions: `argpartition` takes any, and others on another processor."""
    best = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    least = np.min(np.take_along_axis(scores, best, 1), axis=1, keepdims=True)
    is_tied = (np.sum(scores >= least, axis=1) > k) & np.isfinite(least[:, 0])
    for row in np.nonzero(is_tied)[0]:
        above, equal = (np.nonzero(part)[0] for part in (scores[row] > least[row], scores[row] == least[row]))
        first = equal[np.argsort(positions[row, equal])]
        best[row] = np.concatenate([above, first])[:k]
    return best


def scores_of_queries(best: Best, judgments: Sequence[Mapping[int, float]]) -> list[dict[str, float]]:
    """`ranking_scores` of each query.

    Args:
      best: the texts that were found for it, with these judgments.
      judgments: as a `Collection` has them.
    """
    every = []
    for query, gains in enumerate(judgments):
        some = best.positions[query] >= 0
        ranked = [gains.get(position, 0.0) for position in best.positions[query, some].tolist()]
        scores = best.scores[query, some]
        if best.beyond[query]:
            ranked += best.gains_beyond(query, gains)
            scores = np.pad(scores, (0, len(ranked) - len(scores)), "edge")
        every.append(ranking_scores(scores, np.array(ranked), np.array([*gains.values()])))
    return every
