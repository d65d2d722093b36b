"""Rows of a table picked by index, where the way back is a pick as well."""

from keras import ops

from kbert.kernels.kernel import Kernel


def gather_rows(table, indices):
    """Rows of `table` (rows, width) at `indices` of any shape; zeros where an index lies past the end."""
    rows = ops.shape(table)[0]
    inside = ops.cast(indices < rows, table.dtype)
    taken = ops.take(table, ops.minimum(indices, rows - 1), axis=0)
    return taken * ops.expand_dims(inside, -1)


def flat_rows(x):
    """`(..., width)` -> `(rows, width)`."""
    return ops.reshape(x, (-1, x.shape[-1]))


def _forward(table, indices, inverse):
    return gather_rows(flat_rows(table), indices), (inverse,)


def _backward(kept, upstream):
    (inverse,) = kept
    return gather_rows(flat_rows(upstream), inverse), None, None


_kernel = Kernel(_forward, _backward)


def exchange_rows(table, indices, inverse):
    """Rows of a table at `indices`, for indices that `inverse` undoes: so its gradient is a gather too.

    Args:
      table: tensor of shape `(rows, width)`.
      indices: int32 tensor of any shape; an index past the end gives zeros. No row is picked twice.
      inverse: int32 tensor `(rows,)`: where each row went, past the end for those that went nowhere.

    Returns:
      Tensor of shape `(*indices.shape, width)`.
    """
    return _kernel(table, indices, inverse)
