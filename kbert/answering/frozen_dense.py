"""Dense layers side by side as one product, with weights that no training changes."""

import numpy as np
import tensorflow as tf


class FrozenDense:
    """One product and bias for dense layers that have the same input.

    The weights are variables of their own, so that a SavedModel stores them once and a server holds them
    once, however many signatures use them. As constants they would be held some eight times: docs/serving.md.
    Where the environment says TF_ONEDNN_ASSUME_FROZEN_WEIGHTS=1, oneDNN arranges them once instead of at each
    call.

    Args:
      layers: layers with a `kernel` (inputs, outputs) and a `bias` (outputs,).
      dtype: "float32" or "bfloat16".

    Call arguments:
      inputs: tensor of shape (tokens, inputs), of that dtype.

    Returns:
      Tensor of that dtype, of shape (tokens, outputs of all layers).
    """

    def __init__(self, layers, dtype: str):
        self._layers, self._dtype = tuple(layers), tf.as_dtype(dtype).as_numpy_dtype
        self.kernel, self.bias = (
            tf.Variable(self._joined(name), trainable=False) for name in ("kernel", "bias")
        )

    def __call__(self, inputs):
        return tf.nn.bias_add(tf.matmul(inputs, self.kernel), self.bias)

    def renew(self):
        """Takes the weights of the layers again."""
        self.kernel.assign(self._joined("kernel"))
        self.bias.assign(self._joined("bias"))

    def _joined(self, name):
        values = np.concatenate([np.asarray(getattr(layer, name)) for layer in self._layers], axis=-1)
        return values.astype(self._dtype)
