"""Real tokens alone, and rows that several short examples share in the attention."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import tensorflow as tf

from kbert.kernels.attention import OTHER_TEXT_ADDER
from kbert.layers.local_blocks import LocalBlocks

# Where the longest example of a batch has more tokens, attention goes example by example: adding the mask of
# 2,048 tokens to their scores takes a third of the time of attention in bfloat16 (docs/notes/speed.md).
LONG = 512

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
    start = tf.cumsum(widths, exclusive=True)
    row = start // _WHOLE
    slot = tf.range(tf.size(row)) - tf.searchsorted(row, row)
    column = start % _WHOLE * longest // _WHOLE
    by_example = tf.scatter_nd(order[:, None], tf.stack([row, column, slot], -1), [tf.size(row), 3])
    return by_example[:, 0], by_example[:, 1], by_example[:, 2], longest


class TokensInRows:
    """Values of tokens in rows.

    Letters: T tokens, R rows, C columns, N heads, D head size.

    Args:
      tokens: int32 (R, C), which token stands there; where none does, 0, whose values are masked or not
        looked at.
      examples: int32 (R, C), 1 + the example of that token, 0 where none stands.

    Attributes:
      examples: as given.
    """

    def __init__(self, tokens, examples):
        self._tokens, self.examples = tokens, examples

    def mask(self, attended: "TokensInRows", dtype):
        """(R, 1, C, C of `attended`): 0 between tokens of one example, a large negative number elsewhere."""
        same = tf.equal(self.examples[:, :, None], attended.examples[:, None, :])
        return tf.where(same, tf.constant(0.0, dtype), tf.constant(OTHER_TEXT_ADDER, dtype))[:, None]

    def split_heads(self, values, heads: int):
        """(T, N D) -> (R, N, C, D) in one op: a transpose would make oneDNN arrange its work at each call."""
        indices = self._tokens[:, None] * heads + tf.range(heads)[:, None]  # (R, N, C)
        return tf.gather(tf.reshape(values, [-1, values.shape[-1] // heads]), indices)

    def in_rows(self, values):
        """(T,) -> (R, C)"""
        return tf.gather(values, self._tokens)


class AttentionRows(TokensInRows):
    """Values of tokens in rows, and back; letters as for `TokensInRows`.

    Args:
      row, column: int32 (T,), where each token stands.
      num_columns: int32 (), all columns.
      examples: int32 (T,), the example of each token.
      num_rows: int32 (), all rows; None for as many as `row` has.
    """

    def __init__(self, row, column, num_columns, examples, num_rows=None):
        self._row, self._column, self._num_columns, self._of_tokens = row, column, num_columns, examples
        if num_rows is None:
            num_rows = tf.maximum(tf.reduce_max(row), -1) + 1  # the largest of no row is the least int32
        shape = tf.stack([num_rows, num_columns])
        positions = tf.stack([row, column], -1)
        values = tf.range(tf.size(row)), examples + 1
        super().__init__(*(tf.scatter_nd(positions, each, shape) for each in values))

    def blocks(self, window: int):
        """A row for each block of `LocalBlocks`: (`AttentionRows`, `TokensInRows` of what they look at)."""
        blocks = LocalBlocks(self._num_columns, window)
        row, column = self._row * blocks.number + self._column // blocks.size, self._column % blocks.size
        number = tf.shape(self._tokens)[0] * blocks.number
        beside = [blocks.beside(each[..., None]) for each in (self._tokens, self.examples)]
        looked_at = TokensInRows(*(tf.reshape(each, [number, tf.shape(each)[2]]) for each in beside))
        return AttentionRows(row, column, blocks.size, self._of_tokens, number), looked_at

    def merge_heads(self, values, heads: int):
        """(R, N, C, D) -> (T, N D), what `split_heads` splits."""
        width = values.shape[-1]
        starts = (self._row * heads)[:, None] + tf.range(heads)  # (T, N)
        indices = starts * self._num_columns + self._column[:, None]
        return tf.reshape(tf.gather(tf.reshape(values, [-1, width]), indices), [-1, heads * width])


@dataclass(frozen=True)
class SharedRows:
    """The rows of a `transformer_block` over real tokens.

    Args:
      key_rows: `TokensInRows` of all tokens.
      query_rows: `AttentionRows` of those that the block computes anew.
      queries: function from hidden states of all tokens to those of the ones that it computes anew.
      mask: `query_rows.mask(key_rows)`; empty where `is_long`.
      positions: int32 (T,): the position of each token in its example.
      examples: int32 (B, 3): the row of each example, its first column and the one behind its last; None
        where all rows are attended to at once.
    """

    key_rows: TokensInRows
    query_rows: AttentionRows
    queries: Callable
    mask: tf.Tensor
    positions: tf.Tensor
    examples: tf.Tensor | None = None

    @property
    def distances(self):
        """int32 (R, from, to): how many positions later the second token stands."""
        to_positions = self.key_rows.in_rows(self.positions)
        from_positions = self.query_rows.in_rows(self.queries(self.positions))
        return to_positions[:, None, :] - from_positions[:, :, None]

    @property
    def is_long(self):
        """bool (): whether attention is computed example by example, without a mask."""
        return tf.shape(self.key_rows.examples)[1] > LONG

    def local(self, window: int):
        """The same where a token attends to `window` tokens on each side: block by block, if all attend."""
        query_rows, key_rows = self.query_rows, self.key_rows
        if query_rows is key_rows:
            query_rows, key_rows = query_rows.blocks(window)
        mask = query_rows.mask(key_rows, self.mask.dtype)
        local = dataclasses.replace(self, query_rows=query_rows, key_rows=key_rows, mask=mask, examples=None)
        is_near = tf.abs(local.distances)[:, None] <= window
        mask = tf.where(is_near, mask, tf.constant(OTHER_TEXT_ADDER, mask.dtype))
        return dataclasses.replace(local, mask=mask)


class RealTokens:
    """Where a padded batch holds tokens, how values get there and back, and which attend to which.

    Letters: B batch, S sequence, T real tokens in all, W width.

    Args:
      input_mask: int32 (B, S), 1 at real tokens and 0 at padding, wherever it is.

    Attributes:
      positions: int32 (T,): the position of each real token in its example.
    """

    def __init__(self, input_mask):
        self._mask = input_mask
        shape = tf.shape(input_mask)
        self._indices = tf.cast(tf.where(tf.reshape(input_mask, [-1]) > 0)[:, 0], "int32")  # (T,)
        examples, self.positions = self._indices // shape[1], self._indices % shape[1]
        lengths = tf.reduce_sum(input_mask, axis=1)
        starts = tf.cumsum(lengths, exclusive=True)  # (B,)
        numbers = tf.range(tf.size(self._indices))
        # Padding becomes token 0, whose values are masked.
        table = tf.scatter_nd(self._indices[:, None], numbers, [tf.size(input_mask)])
        self._tokens = tf.reshape(table, shape)
        # An example of padding alone, at the end of the batch, has no first token: any will do.
        self._firsts = tf.minimum(starts, tf.size(numbers) - 1)
        row, column, slot, longest = shared_rows(lengths)
        columns = tf.gather(column - starts, examples) + numbers
        self._rows = AttentionRows(tf.gather(row, examples), columns, longest, examples)
        # One without tokens may have a row of its own behind the last that tokens have.
        last = tf.shape(self._rows.examples)[0] - 1
        self._examples = tf.stack([tf.minimum(row, last), column, column + lengths], -1)
        self._first_rows = AttentionRows(
            row, slot, tf.maximum(tf.reduce_max(slot), 0) + 1, tf.range(shape[0])
        )

    def rows(self, dtype, first_alone=False, may_be_long=False) -> SharedRows:
        """The rows of all real tokens, with a mask in `dtype`.

        Args:
          dtype: of the scores.
          first_alone: whether a block computes the first token of each example only.
          may_be_long: whether to compute attention example by example where one is long.
        """
        query_rows = self._first_rows if first_alone else self._rows
        queries = self.take_first if first_alone else lambda hidden: hidden
        parts = self._rows, query_rows, queries
        if first_alone or not may_be_long:
            return SharedRows(*parts, query_rows.mask(self._rows, dtype), self.positions)
        rows = SharedRows(*parts, tf.zeros([0, 1, 0, 0], dtype), self.positions, self._examples)
        mask = tf.cond(rows.is_long, lambda: rows.mask, lambda: query_rows.mask(self._rows, dtype))
        return dataclasses.replace(rows, mask=mask)

    def take(self, values):
        """(B, S) -> (T,)"""
        return tf.gather(tf.reshape(values, [-1]), self._indices)

    def take_first(self, values):
        """(T, W) -> (B, W): the first real token of each example."""
        return tf.gather(values, self._firsts)

    def pad(self, values):
        """(T, W) -> (B, S, W), zeros at padding."""
        return tf.gather(values, self._tokens) * tf.cast(self._mask, values.dtype)[:, :, None]
