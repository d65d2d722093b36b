"""How a kernel runs: compiled forward and backward passes with a gradient of its own."""

import os
from collections.abc import Callable

import keras

# Set to 0, kernels run uncompiled: much slower steps, but no second of compilation for each new shape, which
# is what tests of tiny models want.
COMPILE_VARIABLE = "KBERT_COMPILE_KERNELS"
_TENSORFLOW = keras.backend.backend() == "tensorflow"


class Kernel:
    """A function of tensors whose forward and backward pass are compiled, each into few passes over memory.

    A chain of element-wise operations reads and writes its tensors once an operation; between matrix
    products that is half of a training step's time on a CPU. Compiled by XLA the chain is one loop, and a
    gradient written by hand keeps only what it cannot cheaply make again. Under TensorFlow the products
    around it stay TensorFlow's own, which are faster than XLA's on a CPU; where the whole step is compiled,
    the kernels are compiled into it.

    Args:
      forward: function `(*tensors, **settings) -> (outputs, kept)`: a tensor or a tuple of tensors, and a
        tuple of tensors for the backward pass.
      backward: function `(kept, upstream, **settings) -> gradients`: upstream has the structure of outputs;
        a gradient for each of forward's tensors, or None for those that have none (integers).

    Call arguments:
      tensors: as forward takes them, or variables.
      settings: hashable values, part of the compiled program.
    """

    compiled = os.environ.get(COMPILE_VARIABLE) != "0"

    def __init__(self, forward: Callable, backward: Callable):
        self._plain = forward, backward
        self._compiled = _compiled(forward), _compiled(backward)

    def __call__(self, *tensors, **settings):
        forward, backward = self._compiled if self.compiled else self._plain

        @keras.ops.custom_gradient
        def with_gradient(*tensors):
            outputs, kept = forward(*tensors, **settings)

            def gradient(*upstream):
                upstream = upstream if isinstance(outputs, tuple) else upstream[0]
                return backward(kept, upstream, **settings)

            return outputs, gradient

        return with_gradient(*(_value(tensor) for tensor in tensors))


def _value(tensor):
    if not _TENSORFLOW:
        return keras.ops.convert_to_tensor(tensor)
    import tensorflow as tf

    return tf.convert_to_tensor(tensor)  # Keras's own leaves a variable a variable


def _compiled(function):
    if not _TENSORFLOW:
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True)
