"""Vectors of length 1, in Keras and in NumPy."""

import numpy as np

from kbert.late_tensorflow import ops

# Nothing beside the squares of real vectors. It gives a vector of zeros a finite gradient, under XLA too.
# `keras.ops.normalize` gives it none there.
EPSILON = 1e-12


def unit(vectors):
    """Vectors of shape (..., width) brought to length 1 (L2 norm), in float32; the zero vector stays."""
    vectors = ops.cast(vectors, "float32")
    return vectors * ops.rsqrt(ops.sum(ops.square(vectors), axis=-1, keepdims=True) + EPSILON)


def unit_rows(vectors: np.ndarray) -> np.ndarray:
    """`unit` in NumPy, of a float32 array of shape (rows, width): without TensorFlow."""
    return vectors / np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True) + np.float32(EPSILON))
