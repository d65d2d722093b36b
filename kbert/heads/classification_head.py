import keras
from keras import ops

from kbert.layers.dropout import Dropout
from kbert.layers.flat_dense import FlatDense


@keras.saving.register_keras_serializable(package="kbert")
class ClassificationHead(keras.layers.Layer):
    """Dropout and a dense layer from the pooled output to one logit per label.

    With two labels and no dropout it is also the next-sentence head of pretraining.

    Args:
      num_labels: number of labels.
      dropout: share of the pooled output dropped in training.
      initializer_range: standard deviation of the truncated normal initializer.

    Call arguments:
      vectors: tensor of shape `(batch, hidden_size)`.

    Returns:
      float32 logits of shape `(batch, num_labels)`.

    Reference: google-research/bert, run_classifier.py, `create_model`; run_pretraining.py,
    `get_next_sentence_output`.
    """

    def __init__(self, num_labels, dropout, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.num_labels = num_labels
        self.dropout = dropout
        self.initializer_range = initializer_range

    def build(self, input_shape):
        self.dense = self._make_dense()
        self.dense.build(input_shape)
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def _make_dense(self):
        return keras.layers.Dense(
            self.num_labels,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
            dtype=self.dtype_policy,
            name="dense",
        )

    def call(self, vectors, training=False):
        return ops.cast(self.dense(self.dropout_layer(vectors, training=training)), "float32")

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.num_labels)

    def compute_output_spec(self, vectors, training=False):
        return keras.KerasTensor(self.compute_output_shape(vectors.shape), dtype="float32")

    def get_config(self):
        names = ("num_labels", "dropout", "initializer_range")
        return super().get_config() | {name: getattr(self, name) for name in names}


@keras.saving.register_keras_serializable(package="kbert")
class TokenClassificationHead(ClassificationHead):
    """The same for every token's vector, `(batch, seq_length, hidden_size)`, as one flat product.

    Reference: arXiv 1810.04805, section 4 (figure 4d) and 5.3.
    """

    def _make_dense(self):
        return FlatDense(
            self.num_labels,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
            name="dense",
        )


@keras.saving.register_keras_serializable(package="kbert")
class SpanHead(keras.layers.Layer):
    """A dense layer from every token's vector to two logits: an answer starts here, an answer ends here.

    Args:
      initializer_range: standard deviation of the truncated normal initializer.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.

    Returns:
      float32 logits of shape `(batch, 2, seq_length)`: row 0 for the start, row 1 for the end. Padding
      gets logits like every other token.

    Reference: google-research/bert, run_squad.py, `create_model`.
    """

    def __init__(self, initializer_range, **kwargs):
        super().__init__(**kwargs)
        self.initializer_range = initializer_range

    def build(self, input_shape):
        self.dense = FlatDense(
            2,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build(input_shape)
        self.built = True

    def call(self, sequence_output):
        logits = ops.cast(self.dense(sequence_output), "float32")  # (B, S, 2)
        return ops.transpose(logits, (0, 2, 1))

    def compute_output_shape(self, input_shape):
        return (input_shape[0], 2, input_shape[1])

    def compute_output_spec(self, sequence_output):
        return keras.KerasTensor(self.compute_output_shape(sequence_output.shape), dtype="float32")

    def get_config(self):
        return super().get_config() | {"initializer_range": self.initializer_range}
