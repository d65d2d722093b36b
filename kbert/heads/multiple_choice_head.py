import keras
from keras import ops

from kbert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="kbert")
class ChoicesAsBatch(keras.layers.Layer):
    """Lays the choices of each example one after the other, so that an encoder sees a plain batch.

    Call arguments:
      inputs: int tensor of shape `(batch, choices, seq_length)`.

    Returns:
      Tensor of the same dtype, of shape `(batch * choices, seq_length)`.
    """

    def call(self, inputs):
        return ops.reshape(inputs, (-1, ops.shape(inputs)[2]))

    def compute_output_spec(self, inputs):
        batch, choices, seq_length = inputs.shape
        rows = None if batch is None or choices is None else batch * choices
        return keras.KerasTensor((rows, seq_length), dtype=inputs.dtype)


@keras.saving.register_keras_serializable(package="kbert")
class MultipleChoiceHead(keras.layers.Layer):
    """Dropout and a dense layer from each choice's pooled output to one logit; one row of logits per example.

    Args:
      dropout: share of the pooled output dropped in training.
      initializer_range: standard deviation of the truncated normal initializer.

    Call arguments:
      pooled_output: tensor of shape `(batch * choices, hidden_size)`, see `ChoicesAsBatch`.
      input_ids: int tensor of shape `(batch, choices, seq_length)`; only the number of choices is used.

    Returns:
      float32 logits of shape `(batch, choices)`.

    Reference: arXiv 1810.04805, section 4.4 (SWAG). The bias does not change a softmax over the choices; it
    is there because published checkpoints have it.
    """

    def __init__(self, dropout, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.dropout = dropout
        self.initializer_range = initializer_range

    def build(self, pooled_output_shape, input_ids_shape):
        self.dense = keras.layers.Dense(
            1,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build(pooled_output_shape)
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def call(self, pooled_output, input_ids, training=False):
        pooled_output = self.dropout_layer(pooled_output, training=training)
        logits = ops.cast(self.dense(pooled_output), "float32")  # (B * C, 1)
        return ops.reshape(logits, (-1, ops.shape(input_ids)[1]))

    def compute_output_shape(self, pooled_output_shape, input_ids_shape):
        return input_ids_shape[:2]

    def compute_output_spec(self, pooled_output, input_ids, training=False):
        return keras.KerasTensor(input_ids.shape[:2], dtype="float32")

    def get_config(self):
        return super().get_config() | {"dropout": self.dropout, "initializer_range": self.initializer_range}
