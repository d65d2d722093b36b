"""Sparse vectors beside each other."""

import numpy as np
from scipy import sparse

from kbert.layers.unit_length import EPSILON
from kbert.tasks.similarity.text_similarities import TextSimilarities
from kbert.tasks.similarity.vectors import similarities

_TEXTS_AT_ONCE = 512  # that are dense at a time, for distances


def sparse_similarities(queries, texts, function: str) -> np.ndarray:
    """How similar each query is to each text, float32 (queries, texts); as `similarities`, of csr_arrays."""
    if function == "cosine":
        queries, texts, function = _unit(queries), _unit(texts), "dot"
    if function == "dot":
        return (queries @ texts.T).toarray()
    dense, starts = queries.toarray(), range(0, max(1, texts.shape[0]), _TEXTS_AT_ONCE)
    parts = (texts[start : start + _TEXTS_AT_ONCE].toarray() for start in starts)
    return np.concatenate([similarities(dense, part, function) for part in parts], axis=1)


def _unit(rows):
    """`unit_rows` of a csr_array."""
    lengths = np.sqrt(rows.power(2).sum(axis=1) + np.float32(EPSILON))
    return rows.multiply(1 / lengths.reshape(-1, 1)).tocsr()


def strongest(weights: np.ndarray, most: int | None) -> np.ndarray:
    """Weights (..., V) of which all but the `most` largest are 0, as `max_active_dims` of a model says; of
    equal ones the first stay."""
    if most is None or most >= weights.shape[-1]:
        return weights
    weights = weights.copy()
    np.put_along_axis(weights, np.argsort(-weights, axis=-1, kind="stable")[..., most:], 0, axis=-1)
    return weights


def sparse_rows(embeddings: np.ndarray) -> np.ndarray:
    """Float array (rows, texts, V) -> array of objects (rows,), each a csr_array (texts, V)."""
    rows = np.empty(len(embeddings), object)
    for number, texts in enumerate(embeddings):
        rows[number] = sparse.csr_array(texts)
    return rows


def as_rows(indices: np.ndarray, weights: np.ndarray, width: int):
    """csr_array (texts, width) of the words of texts and their weights, arrays (texts, words)."""
    starts = np.arange(0, indices.size + 1, indices.shape[1])
    return sparse.csr_array((weights.ravel(), indices.ravel(), starts), shape=(len(indices), width))


class SparseSimilarities(TextSimilarities):
    """Of the vectors that `sparse_rows` gives.

    Args:
      rows: array of objects (rows,).
      similarity: one of `SIMILARITY_FUNCTIONS`.
    """

    def __init__(self, rows: np.ndarray, similarity: str):
        self.shape = (len(rows), rows[0].shape[0])
        self._vectors = sparse.vstack(list(rows), format="csr")
        self._similarity = similarity

    def between(self, first, second):
        return sparse_similarities(self._vectors[first], self._vectors[second], self._similarity)
