"""Between a padded batch and its real tokens."""

import tensorflow as tf

from kbert.answering.attention_rows import AttentionRows, shared_rows


class RealTokens:
    """Which places of a padded batch hold tokens, how values get there and back, and which attend to which.

    Letters: B batch, S sequence, T real tokens in all, W width.

    Args:
      input_mask: int32 (B, S), 1 at real tokens and 0 at padding, wherever it is.

    Attributes:
      positions: int32 (T,): the position of each real token in its example.
      rows: `AttentionRows` of all real tokens.
      first_rows: `AttentionRows` of the first real token of each example.
    """

    def __init__(self, input_mask):
        self._mask = input_mask
        shape = tf.shape(input_mask)
        self._places = tf.cast(tf.where(tf.reshape(input_mask, [-1]) > 0)[:, 0], "int32")  # (T,)
        examples, self.positions = self._places // shape[1], self._places % shape[1]
        lengths = tf.reduce_sum(input_mask, axis=1)
        starts = tf.cumsum(lengths, exclusive=True)  # (B,)
        numbers = tf.range(tf.size(self._places))
        # Padding becomes token 0, whose values are masked.
        table = tf.scatter_nd(self._places[:, None], numbers, [tf.size(input_mask)])
        self._tokens = tf.reshape(table, shape)
        # An example of padding alone, at the end of the batch, has no first token: any will do.
        self._firsts = tf.minimum(starts, tf.size(numbers) - 1)
        row, column, slot, longest = shared_rows(lengths)
        self._example_rows = row
        columns = tf.gather(column - starts, examples) + numbers
        self.rows = AttentionRows(tf.gather(row, examples), columns, longest, examples)
        self.first_rows = AttentionRows(row, slot, tf.maximum(tf.reduce_max(slot), 0) + 1, tf.range(shape[0]))

    def take(self, values):
        """(B, S) -> (T,)"""
        return tf.gather(tf.reshape(values, [-1]), self._places)

    def take_first(self, values):
        """(T, W) -> (B, W): the first real token of each example."""
        return tf.gather(values, self._firsts)

    def pad_pairs(self, values):
        """(R, N, C, C) of `rows` -> (B, N, S, S), of each pair of tokens; anything where one is padding."""
        return self.rows.pairs(values, self._example_rows, self._tokens)

    def pad(self, values):
        """(T, W) -> (B, S, W), zeros at padding."""
        return tf.gather(values, self._tokens) * tf.cast(self._mask, values.dtype)[:, :, None]
