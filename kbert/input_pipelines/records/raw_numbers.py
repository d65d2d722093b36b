"""Large float32 features in records, as plain bytes of a dtype that may be shorter (`Feature.stored`).

A list of floats, as `tf.train.Example` has it, takes four bytes a number and holds padding too. Here padding
at the end of the first axis is not stored, and float16 or bfloat16 take two bytes a number:

- float16 keeps 11 significant bits: a number changes by at most 1 part in 2,048; from 65,520 on it overflows,
  which is refused; below 6e-5 fewer bits are left.
- bfloat16 keeps 8 significant bits: at most 1 part in 256; it has the range of float32.
"""

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import tensorflow as tf

from kbert.features import Feature

_NUMPY = {"float32": np.dtype("<f4"), "float16": np.dtype("<f2"), "bfloat16": np.dtype(ml_dtypes.bfloat16)}


def bytes_of_number(stored: str) -> int:
    """How many bytes a number takes in a record; `stored` is one of STORED_DTYPES."""
    return _NUMPY[stored].itemsize


def encode(name: str, rows: Sequence[np.ndarray], feature: Feature) -> list[bytes]:
    """The bytes of each row of a feature.

    Args:
      name: the feature's, for the message.
      rows: for each example a float32 array of shape (n, *feature.shape[1:]), with n at most
        `feature.shape[0]`; what is missing is padding.
      feature: a `Feature` with `stored`.

    Raises:
      ValueError: for another shape, and for numbers that are not finite in the stored dtype.
    """
    encoded = []
    for row in rows:
        if row.shape[1:] != feature.shape[1:] or len(row) > feature.shape[0]:
            raise ValueError(f"feature {name!r} has shape {row.shape}, expected at most {feature.shape}.")
        with np.errstate(over="ignore"):  # found by the next line
            numbers = row.astype(_NUMPY[str(feature.stored)])
        if not np.isfinite(numbers).all():
            raise ValueError(
                f"feature {name!r} has a number that is not finite as {feature.stored} (the largest is "
                f"{np.abs(row).max():g}); store it as float32 or bfloat16."
            )
        encoded.append(numbers.tobytes())
    return encoded


def decode(stored: tf.Tensor, feature: Feature) -> tf.Tensor:
    """float32 tensor of shape [batch, *feature.shape], padded with zeros.

    Args:
      stored: string tensor of shape [batch].
      feature: a `Feature` with `stored`.

    Raises:
      tf.errors.InvalidArgumentError: for bytes that are no whole rows, or more of them than the shape says.
    """
    width, size = int(np.prod(feature.shape[1:])), bytes_of_number(str(feature.stored))
    lengths, most = tf.strings.length(stored), feature.shape[0] * width * size
    whole = tf.reduce_all((lengths % (width * size) == 0) & (lengths <= most))
    with tf.control_dependencies([tf.debugging.Assert(whole, ["a feature is not whole rows of numbers"])]):
        if feature.stored == "float32":
            numbers = tf.io.decode_raw(stored, tf.float32, fixed_length=most)
        else:  # float16 has no kernel
            numbers = tf.bitcast(tf.io.decode_raw(stored, tf.uint16, fixed_length=most), feature.stored)
    return tf.cast(tf.reshape(numbers, [-1, *feature.shape]), tf.float32)
