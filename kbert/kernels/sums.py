"""Sums of rows and columns; on a CPU, products with ones.

GPUs and TPUs would round the factors of a product, to TF32 or bfloat16, so there they stay sums.
"""

from keras import ops

from kbert.kernels.kernel import TENSORFLOW


def row_sums(x):
    """The sum of each row, float32: (..., width) -> (..., 1).

    XLA on a CPU takes the numbers from the loop that makes them to a sum of its own in three passes over
    memory; a product with ones reads them once.
    """
    if _has_accelerator():
        return ops.sum(x, axis=-1, keepdims=True)
    return ops.matmul(x, ops.ones((ops.shape(x)[-1], 1), x.dtype))


def column_sums(x):
    """The sum of each column: (rows, width) -> float32 (width,). On a CPU it is rounded to the dtype of `x`.

    Outside of compiled programs oneDNN's product reads `x` three times as fast as TensorFlow's sum over rows.
    """
    if _has_accelerator():
        return ops.sum(ops.cast(x, "float32"), axis=0)
    ones = ops.ones((1, ops.shape(x)[0]), x.dtype)
    return ops.cast(ops.reshape(ops.matmul(ones, x), (-1,)), "float32")


def _has_accelerator() -> bool:
    if not TENSORFLOW:
        return True
    import tensorflow as tf

    return any(tf.config.list_logical_devices(kind) for kind in ("GPU", "TPU"))
