import keras
from keras import ops

from kbert.kernels.rows import exchange_rows


@keras.saving.register_keras_serializable(package="kbert")
class PaddedOutput(keras.layers.Layer):
    """Hidden states of tokens that lie elsewhere, brought back to the places of the padded batch.

    Call arguments:
      hidden_states: tensor `(..., hidden_size)`, T tokens in all.
      places: int32, T in all: the place of each token in the flattened batch, past its end for none.
      rows: int32 `(batch, seq_length)`: where the token of each place lies, T at padding.

    Returns:
      Tensor of shape `(batch, seq_length, hidden_size)`, zeros at padding.
    """

    def call(self, hidden_states, places, rows):
        flat = ops.reshape(hidden_states, (-1, hidden_states.shape[-1]))
        return exchange_rows(flat, rows, ops.reshape(places, (-1,)))

    def compute_output_spec(self, hidden_states, places, rows):
        return keras.KerasTensor((*rows.shape, hidden_states.shape[-1]), hidden_states.dtype)
