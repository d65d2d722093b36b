"""How a kernel runs: compiled forward and backward passes, with a hand-written gradient."""

import os
from collections.abc import Callable

import keras

# If this is 0, kernels are not compiled. Steps are then much slower, but a new shape does not cost a second
# of compilation. This suits tests of tiny models.
COMPILE_VARIABLE = "KBERT_COMPILE_KERNELS"
_TENSORFLOW = keras.backend.backend() == "tensorflow"


class Kernel:
    """A function of tensors whose forward and backward pass are compiled, each into few passes over memory.

    A chain of element-wise operations reads and writes its tensors once per operation. Between matrix
    products this takes half of a training step's time on a CPU. Compiled by XLA, the chain is one loop. A
    hand-written gradient keeps only what is expensive to compute again. With the TensorFlow backend, the
    matrix products around the kernels remain TensorFlow's own, which are faster than XLA's on a CPU; if the
    whole step is compiled, the kernels are compiled into it. With other backends nothing is compiled here.

    Args:
      forward: function `(*tensors, **settings) -> (outputs, kept)`: a tensor or a tuple of tensors, and a
        tuple of tensors for the backward pass.
      backward: function `(kept, upstream, **settings) -> gradients`: upstream has the structure of outputs;
        a gradient for each of forward's tensors, or None for tensors without a gradient (integers).

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

    return tf.convert_to_tensor(tensor)  # Keras's own function returns a variable unchanged


def _compiled(function):
    if not _TENSORFLOW:
        return function
    import tensorflow as tf

    return tf.function(function, jit_compile=True, autograph=False)
