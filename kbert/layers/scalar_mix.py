import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class ScalarMix(keras.layers.Layer):
    """A weighted sum of the outputs of several layers, with weights that are learned.

    `scale * sum_j softmax(layer_weights)_j h_j`. All weights are 0 at first: training begins with the mean.

    Args:
      num_layers: how many layers.

    Call arguments:
      layers: tensor of shape `(batch, seq_length, num_layers * hidden_size)`, the layers side by side.

    Returns:
      A tensor of shape `(batch, seq_length, hidden_size)`.

    Example:
      >>> import numpy as np
      >>> from kbert.layers.scalar_mix import ScalarMix
      >>> ScalarMix(num_layers=2)(np.array([[[2.0, 2.0, 4.0, 4.0]]])).numpy().tolist()
      [[[3.0, 3.0]]]

    Reference: arXiv 1802.05365 (ELMo), equation 1. The BERT paper (arXiv 1810.04805, table 7) says "weighted
    sum" and not how the weights come about.
    """

    def __init__(self, num_layers, **kwargs):
        super().__init__(**kwargs)
        self.num_layers = num_layers

    def build(self, input_shape):
        shape = (self.num_layers,)
        self.layer_weights = self.add_weight(name="layer_weights", shape=shape, initializer="zeros")
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        self.built = True

    def call(self, layers):
        shares = ops.softmax(self.layer_weights)
        each = ops.split(layers, self.num_layers, axis=-1)
        return self.scale * sum(shares[place] * layer for place, layer in enumerate(each))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], input_shape[-1] // self.num_layers)

    def get_config(self):
        return super().get_config() | {"num_layers": self.num_layers}
