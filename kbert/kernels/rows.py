"""Picks rows of a table by index. The gradient picks rows too."""

from keras import ops


def exchange_rows(table, indices, inverse):
    """Rows of a table at `indices`. `inverse` undoes `indices`, so the gradient is a gather too.

    Args:
      table: tensor of shape `(rows, width)`.
      indices: int32 tensor of any shape; an index past the end gives zeros. No row is picked twice.
      inverse: int32 tensor `(rows,)`: each row's place in the flattened `indices`, or an index past their end
        for a row that is not picked.

    Returns:
      Tensor of shape `(*indices.shape, width)`.
    """
    width = ops.shape(table)[-1]

    @ops.custom_gradient
    def exchanged(table):
        def gradient(upstream):
            return _rows_or_zeros(ops.reshape(upstream, (-1, width)), inverse)

        return _rows_or_zeros(table, indices), gradient

    return exchanged(table)


def _rows_or_zeros(table, indices):
    rows = ops.shape(table)[0]
    inside = ops.cast(indices < rows, table.dtype)
    return ops.take(table, ops.minimum(indices, rows - 1), axis=0) * ops.expand_dims(inside, -1)
