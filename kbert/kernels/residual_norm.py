"""Bias, dropout, residual sum and layer norm in one pass, after attention and after feed-forward."""

from keras import ops

from kbert.kernels.kernel import Kernel
from kbert.kernels.norm import normalized, normalized_gradient
from kbert.kernels.random_bits import dropout_mask
from kbert.kernels.rounding import rounded


def _forward(product, bias, residual, gamma, beta, seed, *, rate, epsilon):
    added = ops.cast(product, "float32") + bias
    if rate:
        added = added * dropout_mask(ops.shape(added), rate, seed)
    scaled, scale = normalized(ops.cast(residual, "float32") + added, epsilon)
    output = rounded(scaled * gamma + beta, product.dtype)
    return output, (rounded(scaled, product.dtype), scale)


def _backward(kept, upstream, *, rate, epsilon):
    gamma, seed, scaled, scale = kept
    dtype = scaled.dtype
    scaled = ops.cast(scaled, "float32")
    upstream = ops.cast(upstream, "float32")
    for_sum = normalized_gradient(upstream * gamma, scaled, scale)
    for_added = for_sum
    if rate:
        for_added = for_sum * dropout_mask(ops.shape(for_sum), rate, seed)
    return (
        rounded(for_added, dtype),
        ops.sum(for_added, axis=0),
        rounded(for_sum, dtype),
        ops.sum(upstream * scaled, axis=0),
        ops.sum(upstream, axis=0),
        None,
    )


_kernel = Kernel(_forward, _backward, keeps=("gamma", "seed"))


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
    return _kernel(product, bias, residual, gamma, beta, seed, rate=rate, epsilon=epsilon)
