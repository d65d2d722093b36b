import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class ScalarMix(keras.layers.Layer):
    """A weighted sum of the outputs of several layers, with weights that are learned.

    `scale * sum_j softmax(layer_weights)_j h_j`. All weights are 0 at first: training begins with the mean.

    Call arguments:
      layers: list of tensors, all of shape `(batch, seq_length, hidden_size)`.

    Returns:
      A tensor of the same shape.

    Example:
      >>> import numpy as np
      >>> from kbert.layers.scalar_mix import ScalarMix
      >>> mix = ScalarMix()
      >>> mix([np.full((1, 1, 2), 2.0), np.full((1, 1, 2), 4.0)]).numpy().tolist()
      [[[3.0, 3.0]]]

    Reference: arXiv 1802.05365 (ELMo), equation 1. The BERT paper (arXiv 1810.04805, table 7) says "weighted
    sum" and not how the weights come about.
    """

    def build(self, input_shape):
        number = len(input_shape)
        self.layer_weights = self.add_weight(name="layer_weights", shape=(number,), initializer="zeros")
        self.scale = self.add_weight(name="scale", shape=(), initializer="ones")
        self.built = True

    def call(self, layers):
        shares = ops.softmax(self.layer_weights)
        total = sum(shares[place] * layer for place, layer in enumerate(layers))
        return self.scale * total

    def compute_output_shape(self, input_shape):
        return input_shape[0]
