import keras
import tensorflow as tf
from keras import ops

from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.heads.masked_lm_head import MaskedLMHead


@keras.saving.register_keras_serializable(package="kbert")
class SparseHead(MaskedLMHead):
    """The masked-LM head at every token, and one weight for each piece of the vocabulary (SPLADE).

    One text after the other: logits of all texts at once would be a gigabyte for 16 texts of 512 tokens. In
    training the logits of a text are computed again for its gradient.

    Args:
      pooling, activation: as in `SparsePoolingConfig`.
      *args, **kwargs: of a `MaskedLMHead`.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.
      input_mask: int tensor of shape `(batch, seq_length)`, 1 at real tokens.

    Returns:
      float32 weights of shape `(batch, vocab_size)`, none of them negative.

    Reference: arXiv 2107.05720, equation 1; 2109.10086, equation 6; 2504.14839 for "log1p_relu".
    """

    def __init__(self, *args, pooling="max", activation="relu", **kwargs):
        super().__init__(*args, **kwargs)
        SparsePoolingConfig(pooling, activation)  # raises an error for other words
        self.pooling = pooling
        self.activation = activation

    def build(self, sequence_output_shape, input_mask_shape):
        super().build(sequence_output_shape, input_mask_shape)

    def call(self, sequence_output, input_mask, training=False):
        hidden = self.layer_norm(self.transform(sequence_output, training=training), training=training)
        table = ops.cast(self.embeddings.word_embeddings, self.compute_dtype)  # (V, E)
        bias = ops.cast(self.output_bias, "float32")
        weigh = tf.recompute_grad(self._weights) if training else self._weights
        weights = tf.map_fn(
            lambda text: weigh(text[0], text[1], table, bias),
            (hidden, ops.cast(input_mask, "float32")),
            fn_output_signature=tf.TensorSpec([self.config.vocab_size], tf.float32),
            parallel_iterations=1,
        )
        return ops.log1p(weights) if self.pooling == "max" and self.activation == "log1p_relu" else weights

    def _weights(self, hidden, mask, table, bias):
        """Of one text: hidden states (S, E) -> (V,)."""
        logits = ops.cast(tf.matmul(hidden, table, transpose_b=True), "float32") + bias
        words = ops.relu(logits) * mask[:, None]
        if self.pooling == "max":  # the logarithm keeps the order, so it can wait
            return ops.log1p(ops.max(words, axis=0))
        words = ops.log1p(words)
        return ops.sum(ops.log1p(words) if self.activation == "log1p_relu" else words, axis=0)

    def compute_output_shape(self, sequence_output_shape, input_mask_shape):
        return (sequence_output_shape[0], self.config.vocab_size)

    def compute_output_spec(self, sequence_output, input_mask, training=False):
        shape = (sequence_output.shape[0], self.config.vocab_size)
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        return super().get_config() | {"pooling": self.pooling, "activation": self.activation}
