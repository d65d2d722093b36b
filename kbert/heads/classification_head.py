import keras
from keras import ops

from kbert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="kbert")
class ClassificationHead(keras.layers.Layer):
    """Dropout and a dense layer from the pooled output to one logit per label.

    With two labels and no dropout it is also the next-sentence head of pretraining.

    Args:
      num_labels: number of labels.
      dropout: share of the pooled output dropped in training.
      initializer_range: standard deviation of the truncated normal initializer.

    Call arguments:
      pooled_output: tensor of shape `(batch, hidden_size)`.

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
        self.dense = keras.layers.Dense(
            self.num_labels,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build(input_shape)
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def call(self, pooled_output, training=False):
        pooled_output = self.dropout_layer(pooled_output, training=training)
        return ops.cast(self.dense(pooled_output), "float32")

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.num_labels)

    def compute_output_spec(self, pooled_output, training=False):
        return keras.KerasTensor(self.compute_output_shape(pooled_output.shape), dtype="float32")

    def get_config(self):
        names = ("num_labels", "dropout", "initializer_range")
        return super().get_config() | {name: getattr(self, name) for name in names}
