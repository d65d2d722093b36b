import keras
from keras import ops

from kbert.kernels.logits import vocabulary_logits
from kbert.layers.flat_dense import FlatDense
from kbert.layers.layer_norm import LayerNorm


@keras.saving.register_keras_serializable(package="kbert")
class MaskedLMHead(keras.layers.Layer):
    """Predicts the token at each masked position; the encoder's own token table is the output matrix.

    The transform is as wide as that table, which may be narrower than the hidden states (ELECTRA).

    Args:
      embeddings: the encoder's `BertEmbeddings`, whose token table is shared (tied), not copied.
      hidden_act: name of the activation of the transform, see kbert.config.ACTIVATIONS.
      layer_norm_eps: epsilon of the layer norm.
      initializer_range: standard deviation of the truncated normal initializer.
      use_bias, norm_bias: whether the transform has a bias, and the layer norm a beta.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.
      masked_lm_positions: int tensor of shape `(batch, predictions)`.

    Returns:
      float32 logits of shape `(batch, predictions, vocab_size)`.

    Reference: google-research/bert, run_pretraining.py, `get_masked_lm_output`.
    """

    def __init__(
        self,
        embeddings,
        hidden_act,
        layer_norm_eps,
        initializer_range,
        use_bias=True,
        norm_bias=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.embeddings = embeddings
        self.hidden_act = hidden_act
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range
        self.use_bias = use_bias
        self.norm_bias = norm_bias

    def build(self, sequence_output_shape, masked_lm_positions_shape):
        self.transform = FlatDense(
            self.embeddings.embedding_size,
            self.hidden_act,
            self.initializer_range,
            use_bias=self.use_bias,
            dtype=self.dtype_policy,
            name="transform",
        )
        self.transform.build(sequence_output_shape)
        self.layer_norm = LayerNorm(
            self.layer_norm_eps, center=self.norm_bias, dtype=self.dtype_policy, name="layer_norm"
        )
        self.layer_norm.build((*sequence_output_shape[:-1], self.embeddings.embedding_size))
        self.output_bias = self.add_weight(
            name="output_bias", shape=(self.embeddings.vocab_size,), initializer="zeros", autocast=False
        )
        self.built = True

    def call(self, sequence_output, masked_lm_positions, training=False):
        # Only the masked positions go through the large product with the vocabulary.
        batch, seq_length, hidden_size = ops.shape(sequence_output)
        rows = ops.expand_dims(ops.arange(batch, dtype="int32") * seq_length, 1)  # (B, 1)
        flat = ops.reshape(sequence_output, (-1, hidden_size))  # (B * S, H)
        masked = ops.take(flat, ops.reshape(masked_lm_positions + rows, (-1,)), axis=0)  # (B * P, H)

        masked = self.layer_norm(self.transform(masked, training=training), training=training)
        table = ops.cast(self.embeddings.word_embeddings, self.compute_dtype)  # (V, E)
        logits = vocabulary_logits(masked, table, ops.cast(self.output_bias, "float32"), training)
        return ops.reshape(logits, (batch, -1, self.embeddings.vocab_size))  # (B, P, V)

    def compute_output_shape(self, sequence_output_shape, masked_lm_positions_shape):
        return (*masked_lm_positions_shape, self.embeddings.vocab_size)

    def compute_output_spec(self, sequence_output, masked_lm_positions, training=False):
        shape = self.compute_output_shape(sequence_output.shape, masked_lm_positions.shape)
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        names = ("hidden_act", "layer_norm_eps", "initializer_range", "use_bias", "norm_bias")
        return super().get_config() | {
            "embeddings": keras.saving.serialize_keras_object(self.embeddings),
            **{name: getattr(self, name) for name in names},
        }

    @classmethod
    def from_config(cls, config):
        embeddings = keras.saving.deserialize_keras_object(config.pop("embeddings"))
        return cls(embeddings, **config)
