"""Vectors of texts beside each other: their cosine, and when two of them stand for the same text."""

import numpy as np
from keras import ops

from kbert.layers.sequence_pooling import unit

SAME_VECTOR = 0.99  # the least cosine of two vectors that stand for the same text


def cosine(first, second):
    """The cosines of two tensors of vectors of shape (..., width): float32 of shape (...)."""
    return ops.sum(unit(first) * unit(second), axis=-1)


def cosines_of_answers(vectors, expected) -> np.ndarray:
    """The cosine of each answered vector with the expected one.

    Args:
      vectors, expected: arrays of shape (..., width).

    Returns:
      float32 (vectors,).
    """
    return np.asarray(cosine(vectors, expected)).reshape(-1)
