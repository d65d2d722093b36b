import keras
from keras import ops

from kbert.layers.dropout import Dropout
from kbert.layers.flat_dense import FlatDense, flat_matmul
from kbert.layers.layer_norm import LayerNorm
from kbert.layers.position_bias import PositionBias


@keras.saving.register_keras_serializable(package="kbert")
class BertEmbeddings(keras.layers.Layer):
    """Token + position + segment embeddings, then layer norm and dropout.

    Args:
      vocab_size: rows of the token table.
      hidden_size: width of the output.
      max_position_embeddings: rows of the position table, the longest sequence; with 0 there is no table.
      type_vocab_size: rows of the segment table; with 1 every token gets this row, with 0 there is no table.
      dropout: share of the output dropped in training.
      layer_norm_eps: epsilon of the layer norm.
      initializer_range: standard deviation of the truncated normal initializer.
      embedding_size: width of every table; None for that of the output. Of another width, a dense layer
        without activation comes after the dropout (ELECTRA, arXiv 2003.10555, section 3.2).
      relative_attention_num_buckets: rows of the table of `position_bias`, a `PositionBias`, which the blocks
        take; None for none.
      num_attention_heads: its columns.
      norm_bias: whether the layer norm has a beta.

    Call arguments:
      input_ids: int tensor of shape `(batch, seq_length)`.
      segment_ids: int tensor of shape `(batch, seq_length)`.
      position_ids: int tensor of shape `(batch, seq_length)`, the row of the position table for each token;
        by default 0, 1, 2 ... in every sequence.

    Returns:
      Tensor of shape `(batch, seq_length, hidden_size)`.

    Reference: google-research/bert, modeling.py, `embedding_lookup` and `embedding_postprocessor`.
    """

    def __init__(
        self,
        vocab_size,
        hidden_size,
        max_position_embeddings,
        type_vocab_size,
        dropout,
        layer_norm_eps,
        initializer_range,
        embedding_size=None,
        relative_attention_num_buckets=None,
        num_attention_heads=None,
        norm_bias=True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.max_position_embeddings = max_position_embeddings
        self.type_vocab_size = type_vocab_size
        self.dropout = dropout
        self.layer_norm_eps = layer_norm_eps
        self.initializer_range = initializer_range
        self.embedding_size = hidden_size if embedding_size is None else embedding_size
        self.relative_attention_num_buckets = relative_attention_num_buckets
        self.num_attention_heads = num_attention_heads
        self.norm_bias = norm_bias

    def build(self, input_ids_shape, segment_ids_shape):
        def table(name, rows):
            return self.add_weight(
                name=name,
                shape=(rows, self.embedding_size),
                # A new initializer for each table: one instance would give every table the same numbers.
                initializer=keras.initializers.TruncatedNormal(stddev=self.initializer_range),
                # Rows are looked up first and then cast: casting a whole table costs more than a batch.
                autocast=False,
            )

        self.word_embeddings = table("word_embeddings", self.vocab_size)
        self.position_embeddings = None
        if self.max_position_embeddings:
            self.position_embeddings = table("position_embeddings", self.max_position_embeddings)
        self.token_type_embeddings = None
        if self.type_vocab_size:
            self.token_type_embeddings = table("token_type_embeddings", self.type_vocab_size)
        self.layer_norm = LayerNorm(
            self.layer_norm_eps,
            self.dropout,
            center=self.norm_bias,
            dtype=self.dtype_policy,
            name="layer_norm",
        )
        self.layer_norm.build((*input_ids_shape, self.embedding_size))
        self.projection = None
        if self.embedding_size != self.hidden_size:
            self.projection = FlatDense(
                self.hidden_size,
                initializer_range=self.initializer_range,
                dtype=self.dtype_policy,
                name="projection",
            )
            self.projection.build((*input_ids_shape, self.embedding_size))
        self.position_bias = None
        if self.relative_attention_num_buckets:
            self.position_bias = PositionBias(
                self.num_attention_heads,
                self.relative_attention_num_buckets,
                self.max_position_embeddings,
                self.initializer_range,
                name="position_bias",
            )
            self.position_bias.build((*input_ids_shape, self.hidden_size))
        self.dropout_layer = Dropout(self.dropout, dtype=self.dtype_policy, name="dropout")
        self.built = True

    def call(self, input_ids, segment_ids, position_ids=None, training=False):
        embeddings = ops.take(self.word_embeddings, input_ids, axis=0)  # (B, S, H)
        if self.type_vocab_size > 1:
            # A product with one-hot rows, as in the original: its gradient is a product too. The gradient of
            # a lookup in a table of two rows would be one long sum.
            segments = ops.one_hot(segment_ids, self.type_vocab_size, dtype="float32")
            embeddings += flat_matmul(segments, self.token_type_embeddings)
        elif self.type_vocab_size:
            embeddings += self.token_type_embeddings
        if self.position_embeddings is None:
            pass  # the blocks see positions by themselves
        elif position_ids is None:
            embeddings += ops.expand_dims(self.position_embeddings[: ops.shape(input_ids)[1]], 0)
        else:
            embeddings += ops.take(self.position_embeddings, position_ids, axis=0)

        seed = self.dropout_layer.next_seed() if training else None
        embeddings = self.layer_norm(embeddings, seed=seed, training=training)
        return embeddings if self.projection is None else self.projection(embeddings)

    def compute_output_spec(self, input_ids, segment_ids, position_ids=None, training=False):
        return keras.KerasTensor((*input_ids.shape, self.hidden_size), dtype=self.compute_dtype)

    def compute_output_shape(self, input_ids_shape, segment_ids_shape):
        return (*input_ids_shape, self.hidden_size)

    def get_config(self):
        names = (
            "vocab_size",
            "hidden_size",
            "max_position_embeddings",
            "type_vocab_size",
            "dropout",
            "layer_norm_eps",
            "initializer_range",
            "embedding_size",
            "relative_attention_num_buckets",
            "num_attention_heads",
            "norm_bias",
        )
        return super().get_config() | {name: getattr(self, name) for name in names}
