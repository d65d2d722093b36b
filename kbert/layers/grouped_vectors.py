import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kbert")
class GroupedVectors(keras.layers.Layer):
    """Puts the vectors of the texts of each example side by side: the way back from `ChoicesAsBatch`.

    Call arguments:
      vectors: tensor of shape `(batch * texts, width)`.
      input_ids: int tensor of shape `(batch, texts, seq_length)`; only the number of texts is used.

    Returns:
      Tensor of shape `(batch, texts, width)`, of the dtype of `vectors`.
    """

    def call(self, vectors, input_ids):
        return ops.reshape(vectors, (-1, ops.shape(input_ids)[1], vectors.shape[-1]))

    def compute_output_spec(self, vectors, input_ids):
        return keras.KerasTensor((*input_ids.shape[:2], vectors.shape[-1]), dtype=vectors.dtype)
