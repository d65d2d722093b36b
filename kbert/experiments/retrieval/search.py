"""Exact search in blocks: for each query the texts with the highest scores, in bounded memory."""

import numpy as np

from kbert.tasks.ranking_scores import ranking_scores


class Best:
    """The best texts of each query among all that were added.

    Attributes:
      scores: float32 (queries, at most k), descending; -inf where there are fewer texts than k.
      positions: int64 of that shape: which text has each score, -1 where there is none.

    Args:
      num_queries: how many queries.
      k: how many texts of each are kept.
    """

    def __init__(self, num_queries: int, k: int):
        self._k = k
        self.scores = np.full((num_queries, 0), -np.inf, np.float32)
        self.positions = np.full((num_queries, 0), -1, np.int64)

    def add(self, scores: np.ndarray, positions: np.ndarray):
        """Adds texts.

        Args:
          scores: float array (queries, texts); -inf for a text that a query is not to find.
          positions: int array (texts,) or (queries, texts): which texts these are.
        """
        if scores.shape[1] > self._k:
            best = np.argpartition(-scores, self._k - 1, axis=1)[:, : self._k]
            positions = np.take_along_axis(np.broadcast_to(positions, scores.shape), best, 1)
            scores = np.take_along_axis(scores, best, 1)
        positions = np.concatenate([self.positions, np.broadcast_to(positions, scores.shape)], axis=1)
        scores = np.concatenate([self.scores, scores.astype(np.float32)], axis=1)
        order = np.lexsort((positions, -scores), axis=1)[:, : self._k]
        self.scores = np.take_along_axis(scores, order, 1)
        self.positions = np.where(np.isneginf(self.scores), -1, np.take_along_axis(positions, order, 1))

    @classmethod
    def stacked(cls, blocks: list["Best"]) -> "Best":
        """The best texts of the queries of all blocks, to which the same texts were added."""
        every = cls(0, blocks[0]._k)
        every.scores = np.concatenate([block.scores for block in blocks])
        every.positions = np.concatenate([block.positions for block in blocks])
        return every


def without_own(best: Best, own_texts: list[int], k: int) -> Best:
    """The k best texts of each query without the one that is the query itself.

    Args:
      best: with a text more than k, where a query has such a text.
      own_texts: as a `Collection` has them.
      k: how many are left.

    Reference: github.com/beir-cellar/beir, retrieval/evaluation.py, `ignore_identical_ids`.
    """
    own, others = np.array(own_texts)[:, None], Best(len(own_texts), k)
    is_own = (best.positions == own) & (own >= 0)
    others.add(np.where(is_own, -np.inf, best.scores), best.positions)
    return others


def scores_of_queries(best: Best, judgments: list[dict[int, float]]) -> list[dict[str, float]]:
    """`ranking_scores` of each query.

    Args:
      best: the texts that were found for it.
      judgments: as a `Collection` has them.
    """
    every = []
    for scores, positions, gains in zip(best.scores, best.positions, judgments, strict=True):
        some = positions >= 0
        ranked = [gains.get(int(position), 0.0) for position in positions[some]]
        every.append(ranking_scores(scores[some], np.array(ranked), np.array([*gains.values()])))
    return every
