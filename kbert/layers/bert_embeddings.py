import keras
import tensorflow as tf
from keras import ops

from kbert.layers import fresh_weights
from kbert.layers.dropout import Dropout
from kbert.layers.encoder_layer import EncoderLayer
from kbert.layers.flat_dense import flat_matmul
from kbert.layers.layer_norm import AnsweringLayerNorm
from kbert.layers.position_bias import PositionBias


@keras.saving.register_keras_serializable(package="kbert")
class BertEmbeddings(EncoderLayer):
    """Token + position + segment embeddings, then layer norm and dropout.

    With an `embedding_size` a dense layer without activation comes after the dropout (ELECTRA, arXiv
    2003.10555, section 3.2).

    Args:
      config: an `EncoderConfig`.

    Attributes:
      position_bias: the `PositionBias` that the blocks take; None for an encoder without one.

    Call arguments:
      input_ids: int tensor of shape `(batch, seq_length)`.
      segment_ids: int tensor of shape `(batch, seq_length)`.
      position_ids: int tensor of shape `(batch, seq_length)`, the row of the position table for each token;
        by default 0, 1, 2 ... in every sequence.

    Returns:
      Tensor of shape `(batch, seq_length, hidden_size)`.

    Reference: google-research/bert, modeling.py, `embedding_lookup` and `embedding_postprocessor`.
    """

    def build(self, input_ids_shape, segment_ids_shape):
        config, width = self.config, self.config.embedding_width

        def table(name, rows):
            if not rows:
                return None
            return self.add_weight(
                name=name,
                shape=(rows, width),
                initializer=fresh_weights.normal(config.initializer_range),
                # Rows are looked up first and then cast: casting a whole table costs more than a batch.
                autocast=False,
            )

        self.word_embeddings = table("word_embeddings", config.vocab_size)
        self.position_embeddings = table("position_embeddings", config.num_position_rows)
        self.token_type_embeddings = table("token_type_embeddings", config.type_vocab_size)
        self.layer_norm = self.make_norm("layer_norm", width, config.hidden_dropout_prob)
        self.projection = self.position_bias = None
        if config.embedding_size is not None:
            self.projection = self.make_dense("projection", width, config.hidden_size)
        if config.relative_attention_num_buckets:
            self.position_bias = PositionBias(config, dtype="float32", name="position_bias")
            self.position_bias.build((*input_ids_shape, config.hidden_size))
        self.dropout_layer = Dropout(config.hidden_dropout_prob, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def call(self, input_ids, segment_ids, position_ids=None, training=False):
        embeddings = ops.take(self.word_embeddings, input_ids, axis=0)  # (B, S, H)
        if self.config.type_vocab_size > 1:
            # A product with one-hot rows, as in the original: its gradient is a product too. The gradient of
            # a lookup in a table of two rows would be one long sum.
            segments = ops.one_hot(segment_ids, self.config.type_vocab_size, dtype="float32")
            embeddings += flat_matmul(segments, self.token_type_embeddings)
        elif self.config.type_vocab_size:
            embeddings += self.token_type_embeddings
        if self.position_embeddings is None:
            pass  # the blocks see positions by themselves
        elif position_ids is None:
            length, longest = input_ids.shape[1], self.config.max_position_embeddings
            if length is not None and length > longest:
                raise ValueError(
                    f"received {length} tokens for each text, but the encoder has {longest} positions "
                    "(max_position_embeddings); cut the texts to these."
                )
            embeddings += ops.expand_dims(self.position_embeddings[: ops.shape(input_ids)[1]], 0)
        else:
            embeddings += ops.take(self.position_embeddings, position_ids, axis=0)

        seed = self.dropout_layer.next_seed() if training else None
        embeddings = self.layer_norm(embeddings, seed=seed, training=training)
        return embeddings if self.projection is None else self.projection(embeddings)

    def embed_tokens(self, input_ids, segment_ids, positions):
        """The same for answers, up to the projection, in float32: lookups alone.

        Args:
          input_ids, segment_ids, positions: int32 tensors of shape `(tokens,)`.

        Returns:
          float32 tensor of shape `(tokens, embedding_width)`.
        """
        embeddings = tf.gather(self.word_embeddings.value, input_ids)
        if self.position_embeddings is not None:
            embeddings += tf.gather(self.position_embeddings.value, positions)
        if self.config.type_vocab_size > 1:
            embeddings += tf.gather(self.token_type_embeddings.value, segment_ids)
        elif self.config.type_vocab_size:
            embeddings += self.token_type_embeddings.value
        return AnsweringLayerNorm(self.layer_norm)(embeddings)

    def compute_output_shape(self, input_ids_shape, segment_ids_shape):
        return (*input_ids_shape, self.config.hidden_size)
