import keras

from kbert.layers.activation import activation


@keras.saving.register_keras_serializable(package="kbert")
class Pooler(keras.layers.Layer):
    """The first token's vector through a dense layer and tanh: one vector for the whole sequence.

    Args:
      hidden_size: width of input and output.
      initializer_range: standard deviation of the truncated normal initializer.
      hidden_act: name of another activation than tanh, see kbert.config.ACTIVATIONS.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.

    Returns:
      Tensor of shape `(batch, hidden_size)`.

    Reference: google-research/bert, modeling.py, `BertModel.__init__` ("pooler").
    """

    def __init__(self, hidden_size, initializer_range, hidden_act="tanh", **kwargs):
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.initializer_range = initializer_range
        self.hidden_act = hidden_act

    def build(self, input_shape):
        self.dense = keras.layers.Dense(
            self.hidden_size,
            activation=activation(self.hidden_act),
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build((input_shape[0], input_shape[-1]))
        self.built = True

    def call(self, sequence_output):
        return self.dense(sequence_output[:, 0, :])

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.hidden_size)

    def get_config(self):
        return super().get_config() | {
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
            "hidden_act": self.hidden_act,
        }
