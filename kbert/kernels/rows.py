"""Rows of a table picked by index, where the way back is a pick as well."""

from keras import ops


def exchange_rows(table, indices, inverse):
    """Rows of a table at `indices`, for indices that `inverse` undoes: so its gradient is a gather too.

    Args:
      table: tensor of shape `(rows, width)`.
      indices: int32 tensor of any shape; an index past the end gives zeros. No row is picked twice.
      inverse: int32 tensor `(rows,)`: where each row went, past the end for those that went nowhere.

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
