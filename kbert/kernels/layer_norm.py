"""Layer norm with what stands beside it in one pass: dropout after it; or bias, dropout and sum before."""

from keras import ops

from kbert.kernels.arithmetic import rounded, row_sums
from kbert.kernels.dropout import dropped
from kbert.kernels.kernel import Kernel


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


def _norm(x, gamma, beta, seed, *, rate, epsilon):
    scaled, scale = normalized(ops.cast(x, "float32"), epsilon)
    output = dropped(scaled * gamma + beta, rate, seed)
    return rounded(output, x.dtype), (rounded(scaled, x.dtype), scale)


def _norm_gradient(kept, upstream, *, rate, epsilon):
    gamma, seed, scaled, scale = kept
    dtype = scaled.dtype
    scaled = ops.cast(scaled, "float32")
    gradient = dropped(ops.cast(upstream, "float32"), rate, seed)
    for_x = normalized_gradient(gradient * gamma, scaled, scale)
    return rounded(for_x, dtype), ops.sum(gradient * scaled, axis=0), ops.sum(gradient, axis=0), None


_norm_kernel = Kernel(_norm, _norm_gradient, keeps=("gamma", "seed"))


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
    return _norm_kernel(x, gamma, beta, seed, rate=rate, epsilon=epsilon)


def _residual(product, bias, residual, gamma, beta, seed, *, rate, epsilon):
    added = dropped(ops.cast(product, "float32") + bias, rate, seed)
    scaled, scale = normalized(ops.cast(residual, "float32") + added, epsilon)
    output = rounded(scaled * gamma + beta, product.dtype)
    return output, (rounded(scaled, product.dtype), scale)


def _residual_gradient(kept, upstream, *, rate, epsilon):
    gamma, seed, scaled, scale = kept
    dtype = scaled.dtype
    scaled = ops.cast(scaled, "float32")
    upstream = ops.cast(upstream, "float32")
    for_sum = normalized_gradient(upstream * gamma, scaled, scale)
    for_added = dropped(for_sum, rate, seed)
    return (
        rounded(for_added, dtype),
        ops.sum(for_added, axis=0),
        rounded(for_sum, dtype),
        ops.sum(upstream * scaled, axis=0),
        ops.sum(upstream, axis=0),
        None,
    )


_residual_kernel = Kernel(_residual, _residual_gradient, keeps=("gamma", "seed"))


def residual_norm(product, bias, residual, gamma, beta, seed, rate: float, epsilon: float):
    """`layer_norm(residual + dropout(product + bias))`.

    Args:
      product, residual: tensors of shape `(tokens, width)`.
      bias, gamma, beta: float32 tensors of shape `(width,)`.
      seed: uint32 tensor of shape (2,), see `dropout_mask`.
      rate: share of `product + bias` that is dropped.
      epsilon: of the layer norm.

    Returns:
      Tensor like `product`; computed in float32.
    """
    return _residual_kernel(product, bias, residual, gamma, beta, seed, rate=rate, epsilon=epsilon)
