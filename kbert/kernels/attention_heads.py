"""From the joined product of query, key and value to heads, and from heads back to tokens.

Letters: B batch, S sequence, N heads, D head size, H = N * D.
"""

import math

from keras import ops

from kbert.kernels.kernel import Kernel


def _split(product, bias, *, heads):
    batch, seq_length, joined = ops.shape(product)
    size = joined // (3 * heads)
    x = ops.cast(product, "float32") + bias
    x = ops.transpose(ops.reshape(x, (batch, seq_length, 3, heads, size)), (2, 0, 3, 1, 4))
    parts = (x[0] * (1.0 / math.sqrt(size)), x[1], x[2])
    return tuple(ops.cast(part, product.dtype) for part in parts), ()


def _split_gradient(kept, upstream, *, heads):
    query, key, value = upstream
    query = ops.cast(query, "float32") * (1.0 / math.sqrt(query.shape[-1]))
    parts = [_joined(ops.cast(part, "float32")) for part in (query, key, value)]
    for_bias = ops.concatenate([ops.sum(part, axis=(0, 1)) for part in parts])
    return ops.cast(ops.concatenate(parts, axis=-1), value.dtype), for_bias


def _joined(heads):
    """(B, N, S, D) -> (B, S, H)"""
    batch, number, seq_length, size = ops.shape(heads)
    return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (batch, seq_length, number * size))


def _merge(context, *, heads):
    return _joined(context), ()


def _merge_gradient(kept, upstream, *, heads):
    batch, seq_length, width = ops.shape(upstream)
    gradient = ops.reshape(upstream, (batch, seq_length, heads, width // heads))
    return (ops.transpose(gradient, (0, 2, 1, 3)),)


_split_kernel = Kernel(_split, _split_gradient)
_merge_kernel = Kernel(_merge, _merge_gradient)


def split_heads(product, bias, heads: int):
    """Bias, scale 1 / sqrt(D) of the queries, and the split into heads.

    Args:
      product: tensor `(B, S, 3H)`, query, key and value beside each other.
      bias: float32 tensor `(3H,)`.
      heads: N.

    Returns:
      Three tensors `(B, N, S, D)`.
    """
    return _split_kernel(product, bias, heads=heads)


def merge_heads(context, heads: int):
    """`(B, N, S, D)` -> `(B, S, H)`, the reverse of the split into heads."""
    return _merge_kernel(context, heads=heads)
