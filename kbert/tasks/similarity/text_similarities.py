"""How similar the texts of an evaluation are to each other, asked by their positions."""

import numpy as np

from kbert.tasks.similarity.vectors import similarities


class TextSimilarities:
    """Texts in rows, query first: text `t` of row `r` has the position `r * texts + t`.

    Attributes:
      shape: (rows, texts).
    """

    shape: tuple[int, int]

    def between(self, first, second) -> np.ndarray:
        """float array (first, second): of two arrays of positions, each text with each; more is alike."""
        raise NotImplementedError

    def by_pairs(self, first, second) -> np.ndarray:
        """float array (pairs,): of texts at the same place of two arrays of positions."""
        pairs = zip(first, second, strict=True)
        return np.array([self.between([left], [right])[0, 0] for left, right in pairs])


class DenseSimilarities(TextSimilarities):
    """Of one vector for each text.

    Args:
      embeddings: float array (rows, texts, width).
      similarity: one of `SIMILARITY_FUNCTIONS`.
    """

    def __init__(self, embeddings: np.ndarray, similarity: str = "cosine"):
        self.shape = embeddings.shape[:2]
        self._vectors = embeddings.reshape(-1, embeddings.shape[-1])
        self._similarity = similarity
        if similarity == "cosine":
            norms = np.linalg.norm(self._vectors, axis=-1, keepdims=True)
            self._vectors = self._vectors / np.maximum(norms, 1e-12)

    def between(self, first, second):
        queries, candidates = self._vectors[first], self._vectors[second]
        if self._similarity in ("cosine", "dot"):
            return queries @ candidates.T
        return similarities(queries, candidates, self._similarity)

    def by_pairs(self, first, second):
        """The cosines, whatever the similarity is."""
        queries, texts = self._vectors[first].astype(np.float64), self._vectors[second].astype(np.float64)
        norms = np.linalg.norm(queries, axis=-1) * np.linalg.norm(texts, axis=-1)
        return np.sum(queries * texts, axis=-1) / norms
