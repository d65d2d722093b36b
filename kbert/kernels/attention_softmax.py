"""Mask, softmax and dropout of attention scores, with a gradient in one pass."""

from keras import ops

from kbert.kernels.kernel import Kernel, compiled
from kbert.kernels.random_bits import dropout_mask
from kbert.kernels.rounding import rounded
from kbert.kernels.sums import row_sums

# modeling.py, `attention_layer`: added to the scores of padding. exp(-10000) is exactly 0 in float32,
# and unlike -1e9 the number exists in float16.
PADDING_ADDER = -10000.0


def mask_adder(input_mask, packed: bool):
    """The mask to add to scores (B, N, from, to): 0 where attention is allowed, -10000 elsewhere, float32.

    Args:
      input_mask: int tensor `(B, S)`: 0 at padding and 1 at tokens. With `packed` it is the number of the
        text that a token belongs to, counted from 1, and attention stays within a text.
      packed: whether rows hold several texts.
    """
    to = input_mask[:, None, None, :]
    allowed = ops.not_equal(to, 0)
    if packed:
        own = input_mask[:, None, :, None]
        # Padding attends to all tokens, as it does in rows of a single text.
        allowed = ops.logical_and(allowed, ops.logical_or(ops.equal(own, to), ops.equal(own, 0)))
    return (1.0 - ops.cast(allowed, "float32")) * PADDING_ADDER


@compiled
def _masked(scores, input_mask, *, scale, packed):
    return ops.cast(scores, "float32") * scale + mask_adder(input_mask, packed)


@compiled
def _dropped(exact, seed, *, rate, dtype):
    return rounded(exact * dropout_mask(ops.shape(exact), rate, seed), dtype)


def _forward(scores, input_mask, seed, *, scale, rate, packed):
    # TensorFlow's softmax reads and writes memory once. XLA takes six loops for it on a CPU.
    exact = ops.softmax(_masked(scores, input_mask, scale=scale, packed=packed), axis=-1)
    probabilities = ops.cast(exact, scores.dtype)
    if not rate:
        return probabilities, (probabilities,)
    return _dropped(exact, seed, rate=rate, dtype=scores.dtype), (probabilities,)


@compiled
def _backward(kept, upstream, *, scale, rate, packed):
    seed, probabilities = kept
    dtype = probabilities.dtype
    probabilities = ops.cast(probabilities, "float32")
    gradient = ops.cast(upstream, "float32")
    if rate:
        gradient = gradient * dropout_mask(ops.shape(gradient), rate, seed)
    inner = row_sums(gradient * probabilities)
    return rounded(probabilities * (gradient - inner) * scale, dtype), None, None


_kernel = Kernel(_forward, _backward, keeps=("seed",), in_parts=True)


def attention_softmax(scores, input_mask, seed, scale: float, rate: float, packed: bool):
    """Attention probabilities after dropout.

    Args:
      scores: tensor `(B, N, S, S)`, queries times keys.
      input_mask, packed: see `mask_adder`.
      seed: uint32 tensor `(2,)`, see `dropout_mask`.
      scale: factor of the scores, in float32.
      rate: share of the probabilities dropped.

    Returns:
      Tensor like `scores`; computed in float32.
    """
    return _kernel(scores, input_mask, seed, scale=scale, rate=rate, packed=packed)
