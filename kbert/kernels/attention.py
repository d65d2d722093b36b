"""Attention in training: the split into heads and back, and mask, softmax and dropout of the scores.

Letters: B batch, S sequence, N heads, D head size, H = N * D.
"""

from keras import ops

from kbert.kernels.arithmetic import column_sums, rounded, row_sums
from kbert.kernels.dropout import dropped
from kbert.kernels.kernel import Kernel, compiled


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
    # Not compiled: on a CPU XLA takes three to four times as long for both together (docs/notes/speed.md).
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


_split_kernel = Kernel(_split, _split_gradient, calls_compiled=True)
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


# modeling.py, `attention_layer`: added to the scores of padding. exp(-10000) is exactly 0 in float32,
# and unlike -1e9 the number exists in float16.
PADDING_ADDER = -10000.0
# The same where unrelated texts share rows, in answers: further away than any score. It exists in bfloat16.
OTHER_TEXT_ADDER = -1e9


def mask_adder(input_mask, packed: bool, window: int | None = None, own_mask=None, offset=0):
    """The mask to add to scores (B, N, from, to): 0 where attention is allowed, -10000 elsewhere, float32.

    Args:
      input_mask: int tensor `(B, S)`, or `(B, blocks, to)` as `LocalBlocks` gives: 0 at padding and 1 at
        tokens. With `packed` it is the number of the text that a token belongs to, counted from 1, and
        attention stays within a text.
      packed: whether rows hold several texts.
      window: how many tokens on each side a token attends to; None for all.
      own_mask: the mask of the tokens that attend; None for `input_mask`.
      offset: which column of `input_mask` the first of `own_mask` is.
    """
    own_mask = input_mask if own_mask is None else own_mask
    to, own = input_mask[:, None, ..., None, :], own_mask[:, None, ..., :, None]
    allowed = ops.not_equal(to, 0)
    if packed:
        # Padding attends to all tokens, as it does in rows of a single text.
        allowed = ops.logical_and(allowed, ops.logical_or(ops.equal(own, to), ops.equal(own, 0)))
    if window is not None:
        columns = ops.arange(ops.shape(own_mask)[-1], dtype="int32") + offset
        to_columns = ops.arange(ops.shape(input_mask)[-1], dtype="int32")
        allowed = ops.logical_and(allowed, ops.abs(columns[:, None] - to_columns) <= window)
    return (1.0 - ops.cast(allowed, "float32")) * PADDING_ADDER


@compiled
def _masked(scores, position_bias, input_mask, own_mask, offset, *, scale, packed, window):
    adder = mask_adder(input_mask, packed, window, own_mask, offset)
    return ops.cast(scores, "float32") * scale + position_bias + adder


@compiled
def _dropped(exact, seed, *, rate, dtype):
    return rounded(dropped(exact, rate, seed), dtype)


def _softmax(
    scores, position_bias, input_mask, own_mask, offset, seed, *, scale, rate, packed, window, is_biased
):
    # TensorFlow's softmax reads and writes memory once. XLA takes six loops for it on a CPU.
    masked = _masked(
        scores, position_bias, input_mask, own_mask, offset, scale=scale, packed=packed, window=window
    )
    exact = ops.softmax(masked, axis=-1)
    probabilities = ops.cast(exact, scores.dtype)
    if not rate:
        return probabilities, (probabilities,)
    return _dropped(exact, seed, rate=rate, dtype=scores.dtype), (probabilities,)


@compiled
def _softmax_gradient(kept, upstream, *, scale, rate, packed, window, is_biased):
    seed, probabilities = kept
    dtype = probabilities.dtype
    probabilities = ops.cast(probabilities, "float32")
    gradient = dropped(ops.cast(upstream, "float32"), rate, seed)
    inner = row_sums(gradient * probabilities)
    gradient = probabilities * (gradient - inner)
    bias_gradient = ops.sum(gradient, axis=0) if is_biased else None
    return rounded(gradient * scale, dtype), bias_gradient, None, None, None, None


_softmax_kernel = Kernel(_softmax, _softmax_gradient, keeps=("seed",), calls_compiled=True)


def attention_softmax(
    scores,
    input_mask,
    seed,
    scale: float,
    rate: float,
    packed: bool,
    window: int | None = None,
    own_mask=None,
    offset=0,
    position_bias=None,
):
    """Attention probabilities after dropout.

    Args:
      scores: tensor `(B, N, S, S)` or `(B, N, blocks, from, to)`, queries times keys.
      input_mask, packed, window, own_mask, offset: see `mask_adder`.
      seed: uint32 tensor `(2,)`, see `dropout_mask`.
      scale: factor of the scores, in float32.
      rate: share of the probabilities dropped.
      position_bias: float32 tensor `(N, S, S)` that is added to the scores after the scale; None for nothing.

    Returns:
      Tensor like `scores`; computed in float32.
    """
    settings = {"scale": scale, "rate": rate, "packed": packed, "window": window}
    settings["is_biased"] = position_bias is not None
    own_mask, offset = input_mask if own_mask is None else own_mask, ops.convert_to_tensor(offset, "int32")
    position_bias = ops.zeros((), "float32") if position_bias is None else position_bias
    return _softmax_kernel(scores, position_bias, input_mask, own_mask, offset, seed, **settings)
