"""TensorFlow and Keras for modules that say what a task is: they load when something of them is first used.

What subclasses a layer or a model needs Keras at once, and imports it as usual.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from kbert.late_modules import LateModule

if TYPE_CHECKING:
    import keras
    import tensorflow as tf
    from keras import ops
else:
    keras, ops, tf = map(LateModule, ("keras", "keras.ops", "tensorflow"))

__all__ = ["traced_function", "keras", "ops", "ops_for", "tf"]


def ops_for(values) -> Any:
    """NumPy for an array, `keras.ops` for a tensor: for what both have. An array needs no Keras."""
    return np if isinstance(values, np.ndarray) else ops


def traced_function(function, specs) -> Any:
    """A function as a graph, a `tf.function` that is traced once for all sizes.

    Args:
      function: takes tensors.
      specs: a `tf.TensorSpec`, or a dict of them, for each of its arguments.
    """
    graph = tf.function(function, input_signature=specs, autograph=False)
    # TensorFlow takes the graphs of five models for one that is traced five times, and warns of it.
    graph._omit_frequent_tracing_warning = True
    return graph
