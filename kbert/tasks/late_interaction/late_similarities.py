"""Matrices of token vectors beside each other."""

import numpy as np

from kbert.tasks.late_interaction.maxsim import maxsim
from kbert.tasks.similarity.text_similarities import TextSimilarities


def scored_matrices(embeddings: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """Float array (rows, texts, length, width) -> array of objects (rows,), each a list of matrices (tokens,
    width) of the tokens where `scored`, (rows, texts, length), is 1."""
    rows = np.empty(len(embeddings), object)
    for number, (vectors, masks) in enumerate(zip(embeddings, scored, strict=True)):
        rows[number] = [matrix[mask == 1] for matrix, mask in zip(vectors, masks, strict=True)]
    return rows


class LateSimilarities(TextSimilarities):
    """Of the matrices that `scored_matrices` gives.

    Args:
      rows: array of objects (rows,).
      is_mean: as for `maxsim`.
    """

    def __init__(self, rows: np.ndarray, is_mean: bool):
        self.shape = (len(rows), len(rows[0]))
        self._matrices = [matrix for texts in rows for matrix in texts]
        self._is_mean = is_mean

    def between(self, first, second):
        queries, candidates = ([self._matrices[row] for row in rows] for rows in (first, second))
        return maxsim(queries, candidates, self._is_mean)
