import keras
from keras import ops

from kbert.heads.head import Head
from kbert.layers import fresh_weights
from kbert.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="kbert")
class ClassificationHead(Head):
    """Dropout and a dense layer from the pooled output to one logit per label.

    With two labels and no dropout it is also the next-sentence head of pretraining.

    Args:
      config: an `EncoderConfig`.
      num_labels: number of labels.
      dropout: share of the pooled output dropped in training; None for `hidden_dropout_prob`.

    Call arguments:
      vectors: tensor of shape `(batch, hidden_size)`.

    Returns:
      float32 logits of shape `(batch, num_labels)`.

    Reference: google-research/bert, run_classifier.py, `create_model`; run_pretraining.py,
    `get_next_sentence_output`.
    """

    def __init__(self, config, num_labels, dropout=None, **kwargs):
        super().__init__(config, **kwargs)
        self.num_labels = num_labels
        self.dropout = self.config.hidden_dropout_prob if dropout is None else dropout

    def build(self, input_shape):
        self.dense = self._make_dense(input_shape)
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def _make_dense(self, input_shape):
        initializer = fresh_weights.normal(self.config.initializer_range)
        dense = keras.layers.Dense(  # in float32: in bfloat16 logits from 8 to 16 are multiples of 1/16
            self.num_labels, kernel_initializer=initializer, dtype="float32", name="dense"
        )
        dense.build(input_shape)
        return dense

    def call(self, vectors, training=False):
        return self.dense(self.dropout_layer(vectors, training=training))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.num_labels)

    def get_config(self):
        return super().get_config() | {"num_labels": self.num_labels, "dropout": self.dropout}


@keras.saving.register_keras_serializable(package="kbert")
class TokenClassificationHead(ClassificationHead):
    """The same for every token's vector, `(batch, seq_length, hidden_size)`, as flat products.

    With `normalize_first` it begins with the pooler's layers: dense, activation and norm.

    Args:
      config, num_labels, dropout: as for `ClassificationHead`.

    Reference: arXiv 1810.04805, section 4 (figure 4d) and 5.3; transformers, modeling_modernbert.py,
    `ModernBertPredictionHead`.
    """

    def build(self, input_shape):
        self.transform, self.layer_norm = self._make_transform(input_shape[-1])
        super().build(input_shape)

    def _make_transform(self, width):
        """The dense layer with activation and the norm before the dropout; None for none."""
        config = self.config
        if not config.normalize_first:
            return None, None
        act, use_bias = config.pooler_hidden_act, config.classifier_bias
        dense = self.make_dense("transform", width, width, act, use_bias=use_bias)
        return dense, self.make_norm("layer_norm", width)

    def _make_dense(self, input_shape):
        return self.make_dense("dense", input_shape[-1], self.num_labels, dtype="float32")

    def call(self, vectors, training=False):
        for layer in (self.transform, self.layer_norm):
            vectors = vectors if layer is None else layer(vectors, training=training)
        return super().call(vectors, training=training)


@keras.saving.register_keras_serializable(package="kbert")
class SpanHead(TokenClassificationHead):
    """Two logits for every token: an answer starts here, an answer ends here.

    Args:
      config: an `EncoderConfig`.

    Call arguments:
      vectors: tensor of shape `(batch, seq_length, hidden_size)`.

    Returns:
      float32 logits of shape `(batch, 2, seq_length)`: row 0 for the start, row 1 for the end. Padding
      gets logits like every other token.

    Reference: google-research/bert, run_squad.py, `create_model`.
    """

    def __init__(self, config, num_labels=2, dropout=0.0, **kwargs):
        super().__init__(config, num_labels, dropout, **kwargs)

    def call(self, vectors, training=False):
        return ops.transpose(super().call(vectors, training=training), (0, 2, 1))

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.num_labels, input_shape[1])
