import keras
from keras import ops

from kbert.config.pooling_config import POOLING_LAYER, PoolingConfig
from kbert.layers import fresh_weights
from kbert.layers.encoder_layer import EncoderLayer
from kbert.layers.flat_dense import activation
from kbert.layers.unit_length import unit
from kbert.layers.vector_dense import VectorDense


@keras.saving.register_keras_serializable(package="kbert")
class Pooler(EncoderLayer):
    """The first token's vector through a dense layer and tanh: one vector for the whole sequence.

    With `normalize_first` a norm comes after the activation: ModernBERT's prediction head. With
    `classifier_pooling` "mean" it reads the mean of the real tokens, see `SequencePooling`.

    Args:
      config: an `EncoderConfig`.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.
      input_mask: int tensor of shape `(batch, seq_length)`, 1 at real tokens; "cls" does not read it.

    Returns:
      Tensor of shape `(batch, hidden_size)`.

    Reference: google-research/bert, modeling.py, `BertModel.__init__` ("pooler").
    """

    def build(self, sequence_output_shape, input_mask_shape=None):
        config = self.config
        self.dense = keras.layers.Dense(
            config.hidden_size,
            activation=activation(config.pooler_hidden_act),
            kernel_initializer=fresh_weights.normal(config.initializer_range),
            use_bias=config.classifier_bias,
            dtype=self.dtype_policy,
            name="dense",
        )
        self.dense.build((None, config.hidden_size))
        self.layer_norm = None
        if config.normalize_first:
            self.layer_norm = self.make_norm("layer_norm", config.hidden_size)
        is_first = config.classifier_pooling == "cls"
        self.pooling = None if is_first else SequencePooling(config.classifier_pooling)
        if self.pooling is not None:
            self.pooling.build(sequence_output_shape, input_mask_shape)
        self.built = True

    def call(self, sequence_output, input_mask=None):
        pooling = self.pooling
        pooled = sequence_output[:, 0] if pooling is None else pooling(sequence_output, input_mask)
        pooled = self.dense(pooled)
        return pooled if self.layer_norm is None else self.layer_norm(pooled)

    def compute_output_spec(self, sequence_output, input_mask=None):
        return keras.KerasTensor((sequence_output.shape[0], self.config.hidden_size), self.compute_dtype)


@keras.saving.register_keras_serializable(package="kbert")
class SequencePooling(keras.layers.Layer):
    """Pools the vectors of a sequence's tokens into one vector, in float32. Only `dense` has weights.

    Args:
      mode: "cls" and "lasttoken" take the first and the last real token's vector; "mean" and "max" go over
        the real tokens, special tokens included; "mean_sqrt_len" divides their sum by the square root of
        their number; "weightedmean" counts the first token once, the second twice and so on. Several modes,
        as in "cls+mean", give a vector each, one behind the other.
      normalize: whether to bring the vector to length 1 (L2 norm; the zero vector stays).
      truncate_dim: how many numbers of the vector to keep, after that; None keeps all.
      skipped_tokens: how many tokens at the beginning do not count: those of a prompt.
      dense: layers between pooling and normalization, see `VectorDense`.

    Call arguments:
      sequence_output: tensor of shape `(batch, seq_length, hidden_size)`.
      input_mask: int tensor of shape `(batch, seq_length)`, 1 at real tokens and 0 at padding. A row with
        nothing but padding gives zeros, except with "cls", which takes the first vector then.

    Returns:
      float32 tensor of shape `(batch, width)`, see `PoolingConfig.width`.

    Raises:
      ValueError: for another mode.

    Examples:
      >>> import numpy as np
      >>> from kbert import SequencePooling
      >>> hidden = np.array([[[1.0, 2.0], [3.0, 6.0], [9.0, 9.0]]])
      >>> mask = np.array([[1, 1, 0]])
      >>> SequencePooling("mean")(hidden, mask).numpy().tolist()
      [[2.0, 4.0]]

    Reference: arXiv 1908.10084 (Sentence-BERT), section 3; sentence-transformers, modules/pooling.py.
    """

    def __init__(self, mode="mean", normalize=False, truncate_dim=None, skipped_tokens=0, dense=(), **kwargs):
        super().__init__(**{"dtype": "float32"} | kwargs)  # whatever the global policy is
        # raises an error for another mode
        self._config = PoolingConfig(mode, normalize, truncate_dim, dense=dense)
        self.dense = VectorDense(dense, dtype="float32", name="dense")
        self.mode = mode
        self.normalize = normalize
        self.truncate_dim = truncate_dim
        self.skipped_tokens = skipped_tokens

    @classmethod
    def of(
        cls, config: PoolingConfig, prompt_name: str | None = None, model=None, **kwargs
    ) -> "SequencePooling":
        """The layer of a `PoolingConfig`, for texts behind its default prompt or that of a name.

        Args:
          config: how it pools.
          prompt_name: of the prompt.
          model: a model with such a layer, whose dense layers this one takes; None for new ones.
          **kwargs: of a Keras layer.
        """
        skipped = config.skipped_tokens(prompt_name)
        made = cls(config.mode, config.normalize, config.truncate_dim, skipped, config.dense, **kwargs)
        if config.dense and model is not None:
            made.dense = model.get_layer(POOLING_LAYER).dense
        return made

    def build(self, sequence_output_shape, input_mask_shape):
        if not self.dense.built:
            self.dense.build((None, sequence_output_shape[-1] * len(self._config.modes)))
        self.built = True

    def call(self, sequence_output, input_mask):
        hidden = ops.cast(sequence_output, "float32")
        mask = ops.cast(input_mask, "float32")
        if self.skipped_tokens:
            counts = ops.arange(ops.shape(mask)[1]) >= self.skipped_tokens
            mask = mask * ops.cast(counts, "float32")
        vectors = [self._pool(mode, hidden, ops.expand_dims(mask, 2)) for mode in self._config.modes]
        pooled = vectors[0] if len(vectors) == 1 else ops.concatenate(vectors, axis=1)
        pooled = self.dense(pooled)
        pooled = unit(pooled) if self.normalize else pooled
        return pooled if self.truncate_dim is None else pooled[:, : self.truncate_dim]

    def _pool(self, mode, hidden, mask):  # mask: (B, S, 1)
        total = ops.sum(mask, axis=1)  # (B, 1)
        if mode == "cls":
            if not self.skipped_tokens:
                return hidden[:, 0]
            first = mask * ops.cast(ops.cumsum(mask, axis=1) == 1, "float32")
            return ops.where(total > 0, ops.sum(hidden * first, axis=1), hidden[:, 0])
        if mode == "lasttoken":
            last = mask * ops.cast(ops.cumsum(mask, axis=1) == ops.expand_dims(total, 1), "float32")
            return ops.sum(hidden * last, axis=1)
        if mode == "max":
            # -3e38 is finite and below all real values. A row without real tokens would return it: 0 instead.
            largest = ops.max(ops.where(mask > 0, hidden, -3e38), axis=1)
            return ops.where(total > 0, largest, 0.0)
        if mode == "weightedmean":
            weights = ops.arange(1, ops.shape(mask)[1] + 1, dtype="float32")
            mask = mask * ops.reshape(weights, (1, -1, 1))
            total = ops.sum(mask, axis=1)
        number = ops.maximum(total, 1.0)
        return ops.sum(hidden * mask, axis=1) / (ops.sqrt(number) if mode == "mean_sqrt_len" else number)

    def compute_output_shape(self, sequence_output_shape, input_mask_shape):
        return (sequence_output_shape[0], self._config.width(sequence_output_shape[2]))

    def compute_output_spec(self, sequence_output, input_mask):
        shape = self.compute_output_shape(sequence_output.shape, input_mask.shape)
        return keras.KerasTensor(shape, dtype="float32")

    def get_config(self):
        names = ("mode", "normalize", "truncate_dim", "skipped_tokens")
        own = {name: getattr(self, name) for name in names}
        return super().get_config() | own | {"dense": self.dense.get_config()["dense"]}
