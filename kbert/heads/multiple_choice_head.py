import keras
from keras import ops

from kbert.heads.classification_head import ClassificationHead


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


@keras.saving.register_keras_serializable(package="kbert")
class MultipleChoiceHead(ClassificationHead):
    """Dropout and a dense layer from each choice's pooled output to one logit; one row of logits per example.

    Args:
      config: an `EncoderConfig`.
      dropout: as for `ClassificationHead`.

    Call arguments:
      pooled_output: tensor of shape `(batch * choices, hidden_size)`, see `ChoicesAsBatch`.
      input_ids: int tensor of shape `(batch, choices, seq_length)`; only the number of choices is used.

    Returns:
      float32 logits of shape `(batch, choices)`.

    Reference: arXiv 1810.04805, section 4.4 (SWAG). The bias does not change a softmax over the choices; it
    is there because published checkpoints have it.
    """

    def __init__(self, config, dropout=None, **kwargs):
        super().__init__(config, 1, dropout, **kwargs)

    def build(self, pooled_output_shape, input_ids_shape):
        super().build(pooled_output_shape)

    def call(self, pooled_output, input_ids, training=False):
        logits = super().call(pooled_output, training=training)  # (B * C, 1)
        return ops.reshape(logits, (-1, ops.shape(input_ids)[1]))

    def compute_output_shape(self, pooled_output_shape, input_ids_shape):
        return input_ids_shape[:2]

    def get_config(self):
        config = super().get_config()
        del config["num_labels"]
        return config
