import keras

from kbert.kernels.dropout import dropout, seed_words


@keras.saving.register_keras_serializable(package="kbert")
class Dropout(keras.layers.Layer):
    """Drops a share of the elements in training; a seed and an element's position decide on each.

    Args:
      rate: share of the elements that become 0; the others are scaled by 1 / (1 - rate).

    Call arguments:
      inputs: a floating tensor of any shape.

    Returns:
      A tensor like `inputs`; in inference `inputs` itself.

    Reference: google-research/bert, modeling.py, `dropout`.
    """

    def __init__(self, rate, **kwargs):
        super().__init__(**kwargs)
        self.rate = rate
        self.seed_generator = keras.random.SeedGenerator()
        self.built = True

    def next_seed(self):
        """A new seed at every call, uint32 of shape (2,), for a kernel that applies dropout itself."""
        return seed_words(self.seed_generator.next())

    def call(self, inputs, training=False):
        return dropout(inputs, self.next_seed(), self.rate) if training and self.rate else inputs

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return super().get_config() | {"rate": self.rate}
