from keras import ops

# Nothing beside the squares of real vectors. It gives a vector of zeros a finite gradient, under XLA too.
# `keras.ops.normalize` gives it none there.
_EPSILON = 1e-12


def unit(vectors):
    """Vectors of shape (..., width) brought to length 1 (L2 norm), in float32; the zero vector stays."""
    vectors = ops.cast(vectors, "float32")
    return vectors * ops.rsqrt(ops.sum(ops.square(vectors), axis=-1, keepdims=True) + _EPSILON)
