"""Between a padded batch and its real tokens."""

import tensorflow as tf


class RealTokens:
    """Which places of a padded batch hold tokens, and how values get there and back.

    Letters: B batch, S sequence, T real tokens in all, N heads, D head size, W width.

    Args:
      input_mask: int32 (B, S), 1 at real tokens and 0 at padding, wherever it is.

    Attributes:
      mask: float32 (B, S), the same.
      positions: int32 (T,): the position of each real token in its row.
    """

    def __init__(self, input_mask):
        self.mask = tf.cast(input_mask, "float32")
        self._shape = tf.shape(input_mask)
        self._places = tf.cast(tf.where(tf.reshape(input_mask, [-1]) > 0)[:, 0], "int32")  # (T,)
        self._rows, self.positions = self._places // self._shape[1], self._places % self._shape[1]
        numbers = tf.range(tf.size(self._places))
        # Padding becomes token 0, whose values are masked or not looked at.
        self._tokens = tf.reshape(
            tf.scatter_nd(self._places[:, None], numbers, [tf.size(input_mask)]), self._shape
        )

    def take(self, values):
        """(B, S) -> (T,)"""
        return tf.gather(tf.reshape(values, [-1]), self._places)

    def take_first(self, values):
        """(T, W) -> (B, W): the first place of each row."""
        return tf.gather(values, self._tokens[:, 0])

    def pad(self, values):
        """(T, W) -> (B, S, W), zeros at padding."""
        return tf.gather(values, self._tokens) * tf.cast(self.mask, values.dtype)[:, :, None]

    def split_heads(self, values, heads: int):
        """(T, N D) -> (B, N, S, D) in one op: a transpose would make oneDNN arrange its work at each call."""
        return tf.gather(tf.reshape(values, [-1, values.shape[-1] // heads]), self._head_places(heads))

    def merge_heads(self, values, heads: int):
        """(B, N, S, D) -> (T, N D), what `split_heads` splits."""
        width = values.shape[-1]
        starts = (self._rows * heads)[:, None] + tf.range(heads)  # (T, N)
        places = starts * self._shape[1] + self.positions[:, None]
        return tf.reshape(tf.gather(tf.reshape(values, [-1, width]), places), [-1, heads * width])

    def _head_places(self, heads):
        return self._tokens[:, None] * heads + tf.range(heads)[:, None]  # (B, N, S)
