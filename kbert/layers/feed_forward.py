import keras

from kbert.layers.low_rank_dense import lora_dict, lora_of, projection


@keras.saving.register_keras_serializable(package="kbert")
class FeedForward(keras.layers.Layer):
    """Two dense layers over each token: to `intermediate_size` with the activation, and back.

    Args:
      hidden_size: width of input and output.
      intermediate_size: width in between.
      hidden_act: name of the activation, see kbert.config.ACTIVATIONS.
      initializer_range: standard deviation of the truncated normal initializer.
      lora: a `LoraConfig`, see `LowRankDense`; None for no adapters.

    Call arguments:
      hidden_states: tensor of shape `(batch, seq_length, hidden_size)`.

    Returns:
      Tensor of shape `(batch, seq_length, hidden_size)`.

    Reference: google-research/bert, modeling.py, `transformer_model` ("intermediate" and "output").
    """

    def __init__(self, hidden_size, intermediate_size, hidden_act, initializer_range, lora=None, **kwargs):
        super().__init__(**kwargs)
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.initializer_range = initializer_range
        self.lora = lora_of(lora)

    def build(self, input_shape):
        def dense(name, units, act=None):
            return projection(
                f"feed_forward_{name}",
                self.lora,
                units,
                act,
                initializer_range=self.initializer_range,
                dtype=self.dtype_policy,
                name=name,
            )

        self.intermediate = dense("intermediate", self.intermediate_size, self.hidden_act)
        self.intermediate.build(input_shape)
        self.output_dense = dense("output", self.hidden_size)
        self.output_dense.build((*input_shape[:-1], self.intermediate_size))
        self.built = True

    def call(self, hidden_states, training=False):
        return self.output_dense(self.intermediate(hidden_states, training=training))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        names = ("hidden_size", "intermediate_size", "hidden_act", "initializer_range")
        config = {name: getattr(self, name) for name in names}
        return super().get_config() | config | {"lora": lora_dict(self.lora)}
