"""Layer norm and dropout in one pass, at the end of the embeddings and before the output matrix."""

from keras import ops

from kbert.kernels.kernel import Kernel
from kbert.kernels.random_bits import dropout_mask
from kbert.kernels.rounding import rounded
from kbert.kernels.sums import row_sums


def normalized(x, epsilon):
    """(x - mean) / deviation over the last axis, and 1 / deviation of shape `(..., 1)`; float32."""
    centered = x - ops.mean(x, axis=-1, keepdims=True)
    variance = row_sums(centered * centered) / ops.shape(x)[-1]
    scale = ops.rsqrt(variance + epsilon)
    return centered * scale, scale


def normalized_gradient(gradient, scaled, scale):
    """The gradient of x, from the gradient of `normalized(x)` and the two tensors that it returned."""
    width = ops.shape(gradient)[-1]
    mean, along = row_sums(gradient) / width, row_sums(gradient * scaled) / width
    return scale * (gradient - mean - scaled * along)


def _forward(x, gamma, beta, seed, *, rate, epsilon):
    scaled, scale = normalized(ops.cast(x, "float32"), epsilon)
    output = scaled * gamma + beta
    if rate:
        output = output * dropout_mask(ops.shape(output), rate, seed)
    return rounded(output, x.dtype), (rounded(scaled, x.dtype), scale)


def _backward(kept, upstream, *, rate, epsilon):
    gamma, seed, scaled, scale = kept
    dtype = scaled.dtype
    scaled = ops.cast(scaled, "float32")
    gradient = ops.cast(upstream, "float32")
    if rate:
        gradient = gradient * dropout_mask(ops.shape(gradient), rate, seed)
    for_x = normalized_gradient(gradient * gamma, scaled, scale)
    return rounded(for_x, dtype), ops.sum(gradient * scaled, axis=0), ops.sum(gradient, axis=0), None


_kernel = Kernel(_forward, _backward, keeps=("gamma", "seed"))


def norm_dropout(x, gamma, beta, seed, rate: float, epsilon: float):
    """`dropout(layer_norm(x))`.

    Args:
      x: tensor of shape `(tokens, width)`.
      gamma, beta: float32 tensors of shape `(width,)`.
      seed: uint32 tensor of shape (2,), see `dropout_mask`; without effect where `rate` is 0.
      rate: share of the output that is dropped.
      epsilon: of the layer norm.

    Returns:
      Tensor like `x`; computed in float32.
    """
    return _kernel(x, gamma, beta, seed, rate=rate, epsilon=epsilon)
