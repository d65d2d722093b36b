"""A dense layer's bias and activation in one pass. The backward pass needs only the product and the bias.

A gated activation multiplies the activation of one half of the columns by the other half.
"""

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


def _forward(product, bias, *, activation, gated):
    function, _ = _FUNCTIONS[activation]
    x = ops.cast(product, "float32") + bias
    if gated:
        x, gate = ops.split(x, 2, axis=-1)
        return rounded(function(x) * gate, product.dtype), ()
    return rounded(function(x), product.dtype), ()


def _backward(kept, upstream, *, activation, gated):
    product, bias = kept
    function, slope = _FUNCTIONS[activation]
    x = ops.cast(product, "float32") + bias
    gradient = ops.cast(upstream, "float32")
    if gated:
        x, gate = ops.split(x, 2, axis=-1)
        gradient = ops.concatenate([gradient * gate * slope(x), gradient * function(x)], axis=-1)
    else:
        gradient = gradient * slope(x)
    return rounded(gradient, product.dtype), ops.sum(gradient, axis=0)


_kernel = Kernel(_forward, _backward, keeps=("product", "bias"))


def bias_activation(product, bias, activation: str, gated: bool = False):
    """`activation(product + bias)`; gated, of the first half of the columns, times the second half.

    Args:
      product: tensor of shape `(tokens, width)`.
      bias: float32 tensor of shape `(width,)`.
      activation: a name of kbert.config.ACTIVATIONS.
      gated: see above.

    Returns:
      Tensor like `product`, gated of half its width; computed in float32.
    """
    return _kernel(product, bias, activation=activation, gated=gated)
