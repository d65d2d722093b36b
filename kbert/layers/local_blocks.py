from keras import ops


def any_within(mask, window: int):
    """bool (R, C): whether a bool mask (R, C) is true anywhere within a window on both sides of a column."""
    window = ops.minimum(window, ops.shape(mask)[1])
    counted = ops.cumsum(ops.cast(ops.pad(mask, [[0, 0], [window + 1, window]]), "int32"), axis=1)
    return counted[:, 2 * window + 1 :] > counted[:, : -2 * window - 1]


class LocalBlocks:
    """Columns of rows in blocks, each with the columns that lie within a window of it.

    What a token attends to lies in its own block and in the two beside it, if blocks are as long as the
    window. So local attention costs in proportion to the columns, not to their square. Rows that are not much
    longer than a window are one block, which costs least there.

    Letters: R rows, C columns, B blocks, S columns of a block, K those that a block looks at.

    Args:
      columns: C, an int or an int32 scalar tensor.
      window: how many tokens on each side a token attends to.

    Attributes:
      size, number: S and B.
      offset: which of the K columns the first of the block is.
    """

    def __init__(self, columns, window: int):
        long = max(window, 1)
        is_short = columns <= 4 * long
        if isinstance(columns, int):
            self.size, self.offset = (columns, 0) if is_short else (long, long)
        else:
            self.size, self.offset = ops.where(is_short, columns, long), ops.where(is_short, 0, long)
        self._columns, self.number = columns, (columns + self.size - 1) // self.size

    def split(self, values):
        """(R, ..., C, width) -> (R, ..., B, S, width), zeros behind the last column."""
        return self._in_blocks(self._padded(values, 0), 0)

    def beside(self, values):
        """(R, ..., C, width) -> (R, ..., B, K, width): what each block looks at, zeros beyond both ends."""
        padded = self._padded(values, self.size)
        beside = ops.concatenate([self._in_blocks(padded, number) for number in range(3)], axis=-2)
        start = self.size - self.offset  # of a single block the middle third
        return beside[..., start : 3 * self.size - start, :]

    def join(self, values):
        """(R, ..., B, S, width) -> (R, ..., C, width), the reverse of `split`."""
        *leading, _, _, width = ops.shape(values)
        return ops.reshape(values, (*leading, -1, width))[..., : self._columns, :]

    def _padded(self, values, sides):
        behind = self.number * self.size - self._columns
        none = [[0, 0]] * (len(values.shape) - 2)
        return ops.pad(values, [*none, [sides, sides + behind], [0, 0]])

    def _in_blocks(self, values, first):
        """The blocks from number `first` on."""
        start, end = first * self.size, (first + self.number) * self.size
        *leading, _, width = ops.shape(values)
        return ops.reshape(values[..., start:end, :], (*leading, self.number, self.size, width))
