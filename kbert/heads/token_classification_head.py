import keras
from keras import ops

from kbert.layers.dropout import Dropout
from kbert.layers.flat_dense import FlatDense


@keras.saving.register_keras_serializable(package="kbert")
class TokenClassificationHead(keras.layers.Layer):
    """Dropout and a dense layer from every token's vector to one logit per label.

    Args:
      num_labels: number of labels.
      dropout: share of the sequence output dropped in training.
      initializer_range: standard deviation of the truncated normal initializer.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.

    Returns:
      float32 logits of shape `(batch, seq_length, num_labels)`.

    Reference: arXiv 1810.04805, section 4 (figure 4d) and 5.3.
    """

    def __init__(self, num_labels, dropout, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.num_labels = num_labels
        self.dropout = dropout
        self.initializer_range = initializer_range

    def build(self, input_shape):
        self.dense = FlatDense(
            self.num_labels,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build(input_shape)
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def call(self, sequence_output, training=False):
        sequence_output = self.dropout_layer(sequence_output, training=training)
        return ops.cast(self.dense(sequence_output), "float32")

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.num_labels)

    def compute_output_spec(self, sequence_output, training=False):
        return keras.KerasTensor(self.compute_output_shape(sequence_output.shape), dtype="float32")

    def get_config(self):
        names = ("num_labels", "dropout", "initializer_range")
        return super().get_config() | {name: getattr(self, name) for name in names}
