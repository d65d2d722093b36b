"""Sums along the last axis; on a CPU, products with ones."""

from keras import ops

from kbert.kernels.kernel import TENSORFLOW


def row_sums(x):
    """The sum of each row, float32: (..., width) -> (..., 1).

    XLA on a CPU takes the numbers from the loop that makes them to a sum of its own in three passes over
    memory; a product with ones reads them once. GPUs and TPUs would round the factors of a product, to TF32
    or bfloat16, so there it stays a sum.
    """
    if _has_accelerator():
        return ops.sum(x, axis=-1, keepdims=True)
    return ops.matmul(x, ops.ones((ops.shape(x)[-1], 1), x.dtype))


def _has_accelerator() -> bool:
    if not TENSORFLOW:
        return True
    import tensorflow as tf

    return any(tf.config.list_logical_devices(kind) for kind in ("GPU", "TPU"))
