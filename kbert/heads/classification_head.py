import keras
from keras import ops

from kbert.config import EncoderConfig
from kbert.layers.dropout import Dropout
from kbert.layers.flat_dense import FlatDense
from kbert.layers.layer_norm import LayerNorm


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
    """The same for every token's vector, `(batch, seq_length, hidden_size)`, as flat products.

    Args:
      num_labels, dropout, initializer_range: as for `ClassificationHead`.
      hidden_act: name of the activation of a dense layer before the dropout, see kbert.config.ACTIVATIONS;
        None for no such layer.
      layer_norm_eps: epsilon of a layer norm after this activation; None for no norm.
      use_bias, norm_bias: whether the dense layer before the dropout has a bias, and the layer norm a beta.

    Reference: arXiv 1810.04805, section 4 (figure 4d) and 5.3; with the dense layer it is ELECTRA's, with the
    norm too ModernBERT's, see `token_head_arguments`.
    """

    def __init__(
        self,
        num_labels,
        dropout,
        initializer_range,
        hidden_act=None,
        layer_norm_eps=None,
        use_bias=True,
        norm_bias=True,
        **kwargs,
    ):
        super().__init__(num_labels, dropout, initializer_range, **kwargs)
        self.hidden_act = hidden_act
        self.layer_norm_eps = layer_norm_eps
        self.use_bias = use_bias
        self.norm_bias = norm_bias

    def build(self, input_shape):
        policy, self.transform, self.layer_norm = self.dtype_policy, None, None
        if self.hidden_act is not None:
            self.transform = FlatDense(
                input_shape[-1],
                self.hidden_act,
                self.initializer_range,
                use_bias=self.use_bias,
                dtype=policy,
                name="transform",
            )
            self.transform.build(input_shape)
        if self.layer_norm_eps is not None:
            self.layer_norm = LayerNorm(
                self.layer_norm_eps, center=self.norm_bias, dtype=policy, name="layer_norm"
            )
            self.layer_norm.build(input_shape)
        super().build(input_shape)

    def _make_dense(self):
        return FlatDense(
            self.num_labels,
            initializer_range=self.initializer_range,
            dtype=self.dtype_policy,
            name="dense",
        )

    def call(self, vectors, training=False):
        for layer in (self.transform, self.layer_norm):
            vectors = vectors if layer is None else layer(vectors, training=training)
        return super().call(vectors, training=training)

    def get_config(self):
        names = ("hidden_act", "layer_norm_eps", "use_bias", "norm_bias")
        return super().get_config() | {name: getattr(self, name) for name in names}


@keras.saving.register_keras_serializable(package="kbert")
class SpanHead(TokenClassificationHead):
    """Two logits for every token: an answer starts here, an answer ends here.

    Args:
      **kwargs: as for a `TokenClassificationHead` of two labels without dropout.

    Call arguments:
      vectors: tensor of shape `(batch, seq_length, hidden_size)`.

    Returns:
      float32 logits of shape `(batch, 2, seq_length)`: row 0 for the start, row 1 for the end. Padding
      gets logits like every other token.

    Reference: google-research/bert, run_squad.py, `create_model`.
    """

    def __init__(self, num_labels=2, dropout=0.0, **kwargs):
        super().__init__(num_labels, dropout, **kwargs)

    def call(self, vectors, training=False):
        return ops.transpose(super().call(vectors, training=training), (0, 2, 1))

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.num_labels, input_shape[1])


def token_head_arguments(config: EncoderConfig) -> dict:
    """What a head on every token has of its encoder: ModernBERT's begins with the pooler's layers.

    Reference: transformers, modeling_modernbert.py, `ModernBertPredictionHead`.
    """
    if not config.normalize_first:
        return {}
    return {
        "hidden_act": config.pooler_hidden_act,
        "layer_norm_eps": config.layer_norm_eps,
        "use_bias": config.classifier_bias,
        "norm_bias": config.norm_bias,
    }
