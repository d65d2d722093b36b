import keras
from keras import ops

from kbert.heads.head import Head
from kbert.kernels.logits import vocabulary_logits


@keras.saving.register_keras_serializable(package="kbert")
class MaskedLMHead(Head):
    """Predicts the token at each masked position; the encoder's own token table is the output matrix.

    The transform is as wide as that table, which may be narrower than the hidden states (ELECTRA).

    Args:
      config: an `EncoderConfig`.
      embeddings: the encoder's `BertEmbeddings`, whose token table is shared (tied), not copied.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.
      masked_lm_positions: int tensor of shape `(batch, predictions)`.

    Returns:
      float32 logits of shape `(batch, predictions, vocab_size)`.

    Reference: google-research/bert, run_pretraining.py, `get_masked_lm_output`.
    """

    def __init__(self, config, embeddings, **kwargs):
        super().__init__(config, **kwargs)
        self.embeddings = embeddings

    def build(self, sequence_output_shape, masked_lm_positions_shape):
        config, width = self.config, self.config.embedding_width
        hidden_act, epsilon = config.masked_lm_settings
        self.transform = self.make_dense(
            "transform", config.hidden_size, width, hidden_act, use_bias=config.classifier_bias
        )
        self.layer_norm = self.make_norm("layer_norm", width, epsilon=epsilon)
        self.output_bias = self.add_weight(
            name="output_bias", shape=(config.vocab_size,), initializer="zeros", autocast=False
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
        return ops.reshape(logits, (batch, -1, self.config.vocab_size))  # (B, P, V)

    def compute_output_shape(self, sequence_output_shape, masked_lm_positions_shape):
        return (*masked_lm_positions_shape, self.config.vocab_size)

    def get_config(self):
        return super().get_config() | {"embeddings": keras.saving.serialize_keras_object(self.embeddings)}

    @classmethod
    def from_config(cls, config):
        embeddings = keras.saving.deserialize_keras_object(config.pop("embeddings"))
        return cls(embeddings=embeddings, **config)
