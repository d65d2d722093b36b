"""From the one product of query, key and value to heads, and from heads back to tokens.

Letters: B batch, S sequence, N heads, D head size, H = N * D, T tokens: B * S, or fewer where `places` and
`rows` say which places of the batch are real (see kbert.layers.real_tokens).
"""

import math

from keras import ops

from kbert.kernels.kernel import Kernel
from kbert.kernels.rows import gather_rows


def _split(product, bias, input_mask, *layout, heads):
    batch, seq_length = ops.shape(input_mask)
    size = product.shape[-1] // (3 * heads)
    x = ops.cast(product, "float32") + bias
    if layout:
        places, rows = layout
        x = gather_rows(x, rows)
    x = ops.transpose(ops.reshape(x, (batch, seq_length, 3, heads, size)), (2, 0, 3, 1, 4))
    parts = (x[0] * (1.0 / math.sqrt(size)), x[1], x[2])
    return tuple(ops.cast(part, product.dtype) for part in parts), layout


def _split_gradient(layout, upstream, *, heads):
    query, key, value = upstream
    dtype, size = query.dtype, query.shape[-1]
    query = ops.cast(query, "float32") * (1.0 / math.sqrt(size))
    parts = [_tokens(ops.cast(part, "float32")) for part in (query, key, value)]
    if layout:
        places, rows = layout
        parts = [gather_rows(part, places) for part in parts]
    for_bias = ops.concatenate([ops.sum(part, axis=0) for part in parts])
    gradient = ops.cast(ops.concatenate(parts, axis=1), dtype)
    return gradient, for_bias, None, *(None for _ in layout)


def _tokens(heads):
    """(B, N, S, D) -> (B * S, H)"""
    _, number, _, size = heads.shape
    return ops.reshape(ops.transpose(heads, (0, 2, 1, 3)), (-1, number * size))


def _merge(context, input_mask, *layout):
    tokens = _tokens(context)
    if layout:
        places, rows = layout
        tokens = gather_rows(tokens, places)
    return tokens, (context, input_mask, *layout)


def _merge_gradient(kept, upstream):
    context, input_mask, *layout = kept
    _, heads, _, size = context.shape
    batch, seq_length = ops.shape(input_mask)
    if layout:
        places, rows = layout
        upstream = gather_rows(upstream, rows)
    gradient = ops.reshape(upstream, (batch, seq_length, heads, size))
    return ops.transpose(gradient, (0, 2, 1, 3)), None, *(None for _ in layout)


_split_kernel = Kernel(_split, _split_gradient)
_merge_kernel = Kernel(_merge, _merge_gradient)


def split_heads(product, bias, input_mask, layout, heads: int):
    """Bias, scale 1 / sqrt(D) of the queries, and the split into heads.

    Args:
      product: tensor `(T, 3H)`, query, key and value beside each other.
      bias: float32 tensor `(3H,)`.
      input_mask: int tensor `(B, S)`.
      layout: `(places, rows)` where T is fewer than B * S, else ().
      heads: N.

    Returns:
      Three tensors `(B, N, S, D)`; without a token, zeros.
    """
    return _split_kernel(product, bias, input_mask, *layout, heads=heads)


def merge_heads(context, input_mask, layout):
    """`(B, N, S, D)` -> `(T, H)`, the way back; arguments as for `split_heads`."""
    return _merge_kernel(context, input_mask, *layout)
