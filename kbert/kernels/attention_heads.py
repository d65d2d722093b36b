"""From the joined product of query, key and value to heads, and from heads back to tokens.

Letters: B batch, S sequence, N heads, D head size, H = N * D.
"""

from keras import ops

from kbert.kernels.kernel import Kernel, compiled
from kbert.kernels.rounding import rounded
from kbert.kernels.sums import column_sums


@compiled
def _by_head(product, bias, *, heads):
    """(B, S, 3H) -> (3, B, N, S, D), with the bias."""
    batch, seq_length, joined = ops.shape(product)
    x = rounded(ops.cast(product, "float32") + bias, product.dtype)
    x = ops.reshape(x, (batch, seq_length, 3, heads, joined // (3 * heads)))
    return ops.transpose(x, (2, 0, 3, 1, 4))


def _split(product, bias, *, heads):
    return tuple(ops.unstack(_by_head(product, bias, heads=heads), 3)), ()


def _split_gradient(kept, upstream, *, heads):
    # Not compiled: on a CPU XLA takes three to four times as long for both together (docs/speed.md).
    batch, _, seq_length, _ = ops.shape(upstream[0])
    joined = ops.transpose(ops.stack(upstream), (1, 3, 0, 2, 4))  # (B, S, 3, N, D)
    flat = ops.reshape(joined, (batch * seq_length, -1))
    return ops.reshape(flat, (batch, seq_length, -1)), column_sums(flat)


def _merge(context, *, heads):
    batch, _, seq_length, _ = ops.shape(context)
    return ops.reshape(ops.transpose(context, (0, 2, 1, 3)), (batch, seq_length, -1)), ()


def _merge_gradient(kept, upstream, *, heads):
    batch, seq_length, width = ops.shape(upstream)
    gradient = ops.reshape(upstream, (batch, seq_length, heads, width // heads))
    return (ops.transpose(gradient, (0, 2, 1, 3)),)


_split_kernel = Kernel(_split, _split_gradient, in_parts=True)
_merge_kernel = Kernel(_merge, _merge_gradient)


def split_heads(product, bias, heads: int):
    """Bias, and the split into heads. The bias's gradient is summed in float32 and rounded as the product's.

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
