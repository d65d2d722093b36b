import keras
from keras import ops


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
