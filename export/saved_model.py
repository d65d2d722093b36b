"""Functions -> a SavedModel with a signature for each."""

from collections.abc import Callable, Mapping

import tensorflow as tf


def write_saved_model(functions: Mapping[str, tuple[Callable, list[tf.TensorSpec]]], directory):
    """Writes functions and the variables that they read, each stored once.

    As `keras.export.ExportArchive` does without `track()`, which would store every weight twice; but the
    archive traces each function twice, which takes most of its time.

    Args:
      functions: name of a signature -> (function, what it takes).
      directory: where to.
    """
    signatures = {
        name: tf.function(function, input_signature=specs, autograph=False).get_concrete_function()
        for name, (function, specs) in functions.items()
    }
    module = tf.Module()
    module.weights = list({id(v): v for one in signatures.values() for v in one.variables}.values())
    tf.saved_model.save(module, str(directory), signatures)
