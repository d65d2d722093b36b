import keras
import tensorflow as tf
from keras import ops

from kbert.config.sparse_pooling_config import SparsePoolingConfig
from kbert.heads.masked_lm_head import MaskedLMHead

# Of answers, or those of one longer text: logits of 512 are 60 MB for BERT's vocabulary.
_TOKENS_AT_ONCE = 512


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
        table = ops.cast(self.embeddings.word_embeddings, self.compute_dtype)  # (V, E)
        bias = ops.cast(self.output_bias, "float32")
        weigh = tf.recompute_grad(self._weights) if training else self._weights
        return tf.map_fn(
            lambda text: weigh(text[0], text[1], table, bias),
            (self.transformed(sequence_output, training), ops.cast(input_mask, "float32")),
            fn_output_signature=tf.TensorSpec([self.config.vocab_size], tf.float32),
            parallel_iterations=1,
        )

    def transformed(self, sequence_output, training=False):
        """What the product with the token table is of: `(batch, seq_length, E)`."""
        return self.layer_norm(self.transform(sequence_output, training=training), training=training)

    def _weights(self, hidden, mask, table, bias):
        """Of one text: hidden states (S, E) -> (V,)."""
        logits = ops.cast(tf.matmul(hidden, table, transpose_b=True), "float32")
        if self.pooling == "max":
            real = ops.where(mask[:, None] > 0, logits, logits.dtype.min)
            return self.word_weights(ops.max(real, axis=0), bias)
        return ops.sum(self.word_weights(logits, bias) * mask[:, None], axis=0)

    def word_weights(self, logits, bias):
        """Of float32 logits (..., V). All of it keeps the order, so the largest can be taken before it."""
        words = ops.log1p(ops.relu(logits + bias))
        return ops.log1p(words) if self.activation == "log1p_relu" else words

    def compute_output_shape(self, sequence_output_shape, input_mask_shape):
        return (sequence_output_shape[0], self.config.vocab_size)

    def get_config(self):
        return super().get_config() | {"pooling": self.pooling, "activation": self.activation}


class AnsweringSparseHead(keras.layers.Layer):
    """A `SparseHead` for answers: some texts at once, their real tokens alone.

    Args:
      head: the built `SparseHead`, in float32. It has the weights.
      precision: "float32"; or "bfloat16" for the product with the token table.

    Call arguments, returns: as of `SparseHead`.
    """

    def __init__(self, head: SparseHead, precision: str):
        super().__init__(name=head.name, dtype="float32")
        self.head, self.precision = head, precision

    def call(self, sequence_output, input_mask, training=False):
        hidden = tf.cast(self.head.transformed(sequence_output), self.precision)
        table = tf.cast(self.head.embeddings.word_embeddings.value, self.precision)  # (V, E)
        batch, length = tf.unstack(tf.shape(input_mask))
        texts = tf.maximum(1, _TOKENS_AT_ONCE // length)  # of a block
        missing = tf.where(batch == 0, texts, -batch % texts)  # map_fn needs a block
        padded = (
            tf.pad(part, [[0, missing], *[[0, 0]] * (len(part.shape) - 1)]) for part in (hidden, input_mask)
        )
        width = self.head.config.vocab_size
        weights = tf.map_fn(
            lambda block: self._weights(block[0], block[1], table),
            tuple(tf.reshape(part, [-1, texts, length, *part.shape[2:]]) for part in padded),
            fn_output_signature=tf.TensorSpec([None, width], tf.float32),
            parallel_iterations=1,
        )
        return tf.reshape(weights, [-1, width])[:batch]

    def _weights(self, hidden, input_mask, table):
        """Of a block: hidden states (texts, S, E) -> (texts, V)."""
        real = tf.where(input_mask > 0)
        logits = tf.matmul(tf.gather_nd(hidden, real), table, transpose_b=True)
        logits, texts = tf.cast(logits, "float32"), tf.shape(input_mask)[0]
        bias = self.head.output_bias.value
        if self.head.pooling == "max":
            return self.head.word_weights(tf.math.unsorted_segment_max(logits, real[:, 0], texts), bias)
        return tf.math.unsorted_segment_sum(self.head.word_weights(logits, bias), real[:, 0], texts)

    def compute_output_spec(self, sequence_output, input_mask, training=False):
        return self.head.compute_output_spec(sequence_output, input_mask)
