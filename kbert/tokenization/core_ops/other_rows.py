"""Changes the rows of a batch that need it."""

import tensorflow as tf


def change_other_rows(texts: tf.Tensor, pattern: str, change) -> tf.Tensor:
    """Applies `change` to the rows that do not match `pattern` from end to end.

    Args:
      texts: string tensor of shape [batch].
      pattern: a regular expression of RE2.
      change: string tensor of shape [rows] -> the same.
    """
    matches = tf.strings.regex_full_match(texts, pattern)
    others = tf.where(tf.logical_not(matches))  # (rows, 1)
    return tf.tensor_scatter_nd_update(texts, others, change(tf.gather_nd(texts, others)))
