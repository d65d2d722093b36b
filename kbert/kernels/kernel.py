"""How a kernel runs: compiled forward and backward passes, with a hand-written gradient."""

import functools
import inspect
import os
from collections.abc import Callable, Sequence

import keras
import tensorflow as tf

# If this is 0, kernels are not compiled. Steps are then much slower, but a new shape does not cost a second
# of compilation. This suits tests of tiny models.
COMPILE_VARIABLE = "KBERT_COMPILE_KERNELS"
if (backend := keras.backend.backend()) != "tensorflow":
    raise ImportError(f"Keras runs on {backend}, but kbert needs TensorFlow: set KERAS_BACKEND=tensorflow.")


class Kernel:
    """A function of tensors whose forward and backward pass are compiled, each into few passes over memory.

    A chain of element-wise operations reads and writes its tensors once per operation. Between matrix
    products this takes half of a training step's time on a CPU. Compiled by XLA, the chain is one loop. A
    hand-written gradient keeps only what is expensive to compute again. The matrix products around the
    kernels remain TensorFlow's own, which are faster than XLA's on a CPU; if the whole step is compiled, the
    kernels are compiled into it.

    Args:
      forward: function `(*tensors, **settings) -> (outputs, kept)`: a tensor or a tuple of tensors, and a
        tuple of tensors for the backward pass.
      backward: function `(kept, upstream, **settings) -> gradients`: upstream has the structure of outputs;
        a gradient for each of forward's tensors, or None for tensors without a gradient (integers).
      keeps: names of forward's tensors that the backward pass needs too. They stand before the others in its
        `kept`. If forward returned them itself, each would be copied: a compiled program does not share
        memory between its arguments and its results.
      calls_compiled: whether forward and backward are not compiled as a whole, but call functions that are
        `compiled`: some operations are faster on a CPU outside of a program.

    Call arguments:
      tensors: as forward takes them, or variables.
      settings: hashable values, part of the compiled program.
    """

    compiled = os.environ.get(COMPILE_VARIABLE) != "0"

    def __init__(
        self, forward: Callable, backward: Callable, keeps: Sequence[str] = (), calls_compiled: bool = False
    ):
        functions = (forward, backward)
        self._forward, self._backward = functions if calls_compiled else map(compiled, functions)
        names = list(inspect.signature(forward).parameters)
        self._kept_positions = [names.index(name) for name in keeps]

    def __call__(self, *tensors, **settings):
        @keras.ops.custom_gradient
        def with_gradient(*tensors):
            outputs, computed = self._forward(*tensors, **settings)
            kept = (*(tensors[position] for position in self._kept_positions), *computed)

            def gradient(*upstream):
                upstream = upstream if isinstance(outputs, tuple) else upstream[0]
                return self._backward(kept, upstream, **settings)

            return outputs, gradient

        # Keras's own function returns a variable unchanged.
        return with_gradient(*(tf.convert_to_tensor(tensor) for tensor in tensors))


def compiled(function):
    """The function as one compiled program, or as it is where kernels are not compiled (see `Kernel`)."""
    program = tf.function(function, jit_compile=True, autograph=False)

    @functools.wraps(function)
    def called(*tensors, **settings):
        return (program if Kernel.compiled else function)(*tensors, **settings)

    return called
