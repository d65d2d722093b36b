"""Rows that several short examples share in the attention."""

import tensorflow as tf

# Added to the scores of what a token does not attend to; the softmax is then 0 there in float32 and bfloat16.
_MASKED = -1e9
# A row in the smallest parts that examples take of it; how many of a kind fit; how wide these are.
_WHOLE = 1024
_POWERS = [2**power for power in range(1, 11)]
_WIDTHS = [_WHOLE // power for power in (1, *_POWERS)]


def shared_rows(lengths):
    """Where each example stands, when rows are as wide as the longest one and short ones share a row.

    An example takes a row, or a half, a quarter and so on of one, as much as it needs. From the largest to
    the smallest, such parts fill rows without gaps (the buddy system: Knowlton 1965). So one long text costs
    31 short ones little, and examples of one length stand alone.

    Args:
      lengths: int32 (B,), tokens of each example.

    Returns:
      (row, column, slot, longest): the example begins at `column` of `row`, both int32 (B,); it is number
      `slot` of its row, int32 (B,); a row has `longest` columns, int32 ().
    """
    longest = tf.maximum(tf.reduce_max(lengths), 1)
    fitting = longest // tf.maximum(lengths, 1)
    halvings = tf.reduce_sum(tf.cast(fitting[:, None] >= _POWERS, "int32"), axis=1)
    order = tf.argsort(halvings)
    widths = tf.gather(_WIDTHS, tf.gather(halvings, order))
    place = tf.cumsum(widths, exclusive=True)
    row = place // _WHOLE
    slot = tf.range(tf.size(row)) - tf.searchsorted(row, row)
    column = place % _WHOLE * longest // _WHOLE
    found = tf.scatter_nd(order[:, None], tf.stack([row, column, slot], -1), [tf.size(row), 3])
    return found[:, 0], found[:, 1], found[:, 2], longest


class AttentionRows:
    """Values of tokens in rows, and back.

    Letters: T tokens, R rows, C columns, N heads, D head size.

    Args:
      row, column: int32 (T,), where each token stands.
      num_columns: int32 (), all columns.
      examples: int32 (T,), the example of each token.

    Attributes:
      examples: int32 (R, C): 1 + the example of the token that stands there, 0 where none does.
    """

    def __init__(self, row, column, num_columns, examples):
        self._row, self._column, self._num_columns = row, column, num_columns
        num_rows = tf.maximum(tf.reduce_max(row), -1) + 1  # the largest of no row is the least int32
        shape = tf.stack([num_rows, num_columns])
        places = tf.stack([row, column], -1)
        self.examples = tf.scatter_nd(places, examples + 1, shape)
        # Where no token stands, the values of token 0 are masked or not looked at.
        self._tokens = tf.scatter_nd(places, tf.range(tf.size(row)), shape)

    def mask(self, attended: "AttentionRows", dtype):
        """(R, 1, C, C of `attended`): 0 between tokens of one example, a large negative number elsewhere."""
        same = tf.equal(self.examples[:, :, None], attended.examples[:, None, :])
        return tf.where(same, tf.constant(0.0, dtype), tf.constant(_MASKED, dtype))[:, None]

    def split_heads(self, values, heads: int):
        """(T, N D) -> (R, N, C, D) in one op: a transpose would make oneDNN arrange its work at each call."""
        places = self._tokens[:, None] * heads + tf.range(heads)[:, None]  # (R, N, C)
        return tf.gather(tf.reshape(values, [-1, values.shape[-1] // heads]), places)

    def pairs(self, values, row, tokens):
        """(R, N, C, C) -> (B, N, S, S): what each pair of the `tokens` (B, S) of `row` (B,) has."""
        column = tf.gather(self._column, tokens)
        own = tf.gather(tf.gather(values, row), column, axis=2, batch_dims=1)
        return tf.gather(own, column, axis=3, batch_dims=1)

    def merge_heads(self, values, heads: int):
        """(R, N, C, D) -> (T, N D), what `split_heads` splits."""
        width = values.shape[-1]
        starts = (self._row * heads)[:, None] + tf.range(heads)  # (T, N)
        places = starts * self._num_columns + self._column[:, None]
        return tf.reshape(tf.gather(tf.reshape(values, [-1, width]), places), [-1, heads * width])
