"""What kernels compute with: rounding to the compute dtype, and sums of rows and columns.

On a CPU sums are products with ones. GPUs and TPUs would round the factors of a product, to TF32 or bfloat16,
so there they stay sums.
"""

import tensorflow as tf
from keras import ops


def rounded(x, dtype):
    """A float32 tensor in another dtype, to the nearest number, ties to even.

    To bfloat16 it is done on the bits: half a unit of the last place is added and the lower half cut off.
    On a CPU a compiled loop is up to twice as fast with it as with XLA's own conversion. Infinities and the
    NaN of arithmetic stay what they are: its bits are 0x7fc00000 on CPUs and 0x7fffffff on NVIDIA's GPUs,
    where the sum would carry over into the sign.
    """
    if dtype != "bfloat16":
        return ops.cast(x, dtype)
    # `keras.ops.view` needs static shapes. One minimum is for NaN with each sign; it changes nothing else.
    bits = tf.bitcast(tf.minimum(tf.bitcast(x, tf.int32), 0x7FC00000), tf.uint32)
    bits = tf.minimum(bits, 0xFFC00000)
    half = tf.bitwise.bitwise_and(tf.bitwise.right_shift(bits, 16), 1) + 0x7FFF
    upper = tf.bitwise.right_shift(bits + half, 16)
    return tf.bitcast(tf.cast(upper, tf.uint16), tf.bfloat16)


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
    return any(tf.config.list_logical_devices(kind) for kind in ("GPU", "TPU"))
