"""A dense layer's bias and activation in one pass. The backward pass needs only the product and the bias."""

import math

from keras import ops

from kbert.kernels.arithmetic import rounded
from kbert.kernels.kernel import Kernel

_SQRT_2_OVER_PI = math.sqrt(2.0 / math.pi)
_CUBIC = 0.044715  # modeling.py, `gelu`


def _gelu(x):
    return 0.5 * x * (1.0 + ops.tanh(_SQRT_2_OVER_PI * (x + _CUBIC * x * x * x)))


def _gelu_slope(x):
    tanh = ops.tanh(_SQRT_2_OVER_PI * (x + _CUBIC * x * x * x))
    inner_slope = _SQRT_2_OVER_PI * (1.0 + 3.0 * _CUBIC * x * x)
    return 0.5 * (1.0 + tanh) + 0.5 * x * (1.0 - tanh * tanh) * inner_slope


def _gelu_erf(x):
    return 0.5 * x * (1.0 + ops.erf(x * math.sqrt(0.5)))


def _gelu_erf_slope(x):
    density = ops.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)
    return 0.5 * (1.0 + ops.erf(x * math.sqrt(0.5))) + x * density


def _tanh_slope(x):
    tanh = ops.tanh(x)
    return 1.0 - tanh * tanh


# By the names of kbert.config.ACTIVATIONS: the function and its derivative.
_FUNCTIONS = {
    "gelu": (_gelu, _gelu_slope),
    "gelu_erf": (_gelu_erf, _gelu_erf_slope),
    "relu": (ops.relu, lambda x: ops.cast(x > 0.0, x.dtype)),
    "tanh": (ops.tanh, _tanh_slope),
    "linear": (lambda x: x, ops.ones_like),
}


def _forward(product, bias, *, activation):
    function, _ = _FUNCTIONS[activation]
    x = ops.cast(product, "float32") + bias
    return rounded(function(x), product.dtype), ()


def _backward(kept, upstream, *, activation):
    product, bias = kept
    _, slope = _FUNCTIONS[activation]
    x = ops.cast(product, "float32") + bias
    gradient = ops.cast(upstream, "float32") * slope(x)
    return rounded(gradient, product.dtype), ops.sum(gradient, axis=0)


_kernel = Kernel(_forward, _backward, keeps=("product", "bias"))


def bias_activation(product, bias, activation: str):
    """`activation(product + bias)`.

    Args:
      product: tensor of shape `(tokens, width)`.
      bias: float32 tensor of shape `(width,)`.
      activation: a name of kbert.config.ACTIVATIONS.

    Returns:
      Tensor like `product`; computed in float32.
    """
    return _kernel(product, bias, activation=activation)
