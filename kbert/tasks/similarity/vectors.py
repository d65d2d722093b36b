"""Vectors of texts beside each other: how similar they are, and when two of them stand for the same text."""

import numpy as np
from keras import ops

from kbert.layers.sequence_pooling import unit
from kbert.tasks.serving import Serving

SAME_VECTOR = 0.99  # the least cosine of two vectors that stand for the same text
# How sentence-transformers compares vectors (its `SimilarityFunction`): more is more similar in all of them.
SIMILARITIES = ("cosine", "dot", "euclidean", "manhattan")


def cosine(first, second):
    """The cosines of two tensors of vectors of shape (..., width): float32 of shape (...)."""
    return ops.sum(unit(first) * unit(second), axis=-1)


def similarities(queries, texts, function: str = "cosine") -> np.ndarray:
    """How similar each query is to each text, float32 (queries, texts); more is more similar.

    Args:
      queries, texts: arrays of vectors, of shapes (queries, width) and (texts, width).
      function: one of `SIMILARITIES`; "euclidean" and "manhattan" are distances with a minus in front.

    Raises:
      ValueError: for another function.

    Source: sentence-transformers, util/similarity.py, `cos_sim` to `manhattan_sim`.
    """
    queries, texts = np.asarray(queries, np.float32), np.asarray(texts, np.float32)
    if function == "cosine":
        queries, texts = np.asarray(unit(queries)), np.asarray(unit(texts))
    if function in ("cosine", "dot"):
        return queries @ texts.T
    if function not in SIMILARITIES:
        raise ValueError(f"similarity={function!r} is not known; choose one of {', '.join(SIMILARITIES)}.")
    order = {"euclidean": 2, "manhattan": 1}[function]
    return -np.stack([np.linalg.norm(texts - query, ord=order, axis=-1) for query in queries])


class VectorServing(Serving):
    """Answers that are vectors of texts. `vectors` names them among the outputs of the model."""

    one_text_output = "embedding"
    vectors: str

    def same_answers(self, outputs, expected, batch):
        """For each text whether the cosine of both vectors is at least `SAME_VECTOR`."""
        return self.cosines(outputs, expected) >= SAME_VECTOR

    def cosines(self, outputs, expected):
        return np.asarray(cosine(outputs[self.vectors], expected[self.vectors])).reshape(-1)
