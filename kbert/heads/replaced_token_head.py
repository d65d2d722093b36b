"""What replaced token detection has on top of the encoders: drawn tokens, and a logit for each token."""

import keras
from keras import ops

from kbert.heads.classification_head import TokenClassificationHead
from kbert.kernels.dropout import hashed


@keras.saving.register_keras_serializable(package="kbert")
class DrawnTokens(keras.layers.Layer):
    """Draws a token for each masked position.

    In training there is a new seed at every call. An evaluation always draws the same for the same text,
    wherever that stands in a batch and however far it is padded.

    Call arguments:
      input_ids, input_mask: int32 tensors of shape `(batch, seq_length)`.
      masked_lm_positions: int32 tensor of shape `(batch, predictions)`, see `with_tokens`.
      masked_lm_logits: float32 tensor of shape `(batch, predictions, vocab_size)`.

    Returns:
      `input_ids` with the drawn tokens. There is no gradient.

    Reference: arXiv 2003.10555, section 3.1.
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator()
        self.built = True

    def call(self, input_ids, input_mask, masked_lm_positions, masked_lm_logits, training=False):
        logits = ops.stop_gradient(masked_lm_logits)
        if training:
            flat = ops.reshape(logits, (-1, logits.shape[-1]))
            drawn = keras.random.categorical(flat, 1, dtype="int32", seed=self.seed_generator)
        else:
            noise = gumbel_noise(input_ids * input_mask, masked_lm_positions, logits.shape[-1])
            drawn = ops.argmax(logits + noise, axis=-1)
        drawn = ops.reshape(ops.cast(drawn, "int32"), ops.shape(masked_lm_positions))
        return with_tokens(input_ids, masked_lm_positions, drawn)

    def compute_output_spec(
        self, input_ids, input_mask, masked_lm_positions, masked_lm_logits, training=False
    ):
        return keras.KerasTensor(input_ids.shape, "int32")


@keras.saving.register_keras_serializable(package="kbert")
class ReplacedTokenHead(TokenClassificationHead):
    """A logit for each token: is it another one than in the text?

    It begins with a dense layer with the encoder's activation.

    Args:
      config: an `EncoderConfig`.

    Call arguments:
      vectors: tensor of shape `(batch, seq_length, hidden_size)`.

    Returns:
      float32 logits of shape `(batch, seq_length)`.

    Reference: google-research/electra, run_pretraining.py, `_get_discriminator_output`.
    """

    def __init__(self, config, num_labels=1, dropout=0.0, **kwargs):
        super().__init__(config, num_labels, dropout, **kwargs)

    def _make_transform(self, width):
        return self.make_dense("transform", width, width, self.config.hidden_act), None

    def call(self, vectors, training=False):
        return ops.squeeze(super().call(vectors, training=training), -1)

    def compute_output_shape(self, input_shape):
        return input_shape[:-1]


def gumbel_noise(input_ids, positions, vocab_size: int):
    """Noise whose sum with logits is largest at each token as often as this is probable.

    A hash of the text, the position and the token gives it. (Gumbel-max trick, arXiv 1611.01144, section 2.)

    Args:
      input_ids: int32 tensor of shape `(batch, seq_length)`, 0 at padding.
      positions: int32 tensor of shape `(batch, predictions)`.
      vocab_size: number of tokens.

    Returns:
      float32 tensor of shape `(batch, predictions, vocab_size)`.
    """

    def words(numbers, factor):  # far apart for neighbouring numbers
        return ops.cast(numbers, "uint32") * ops.convert_to_tensor(factor, "uint32")

    columns = ops.arange(ops.shape(input_ids)[1], dtype="int32")
    ids = words(input_ids, 0x9E3779B1)
    tokens = ops.where(input_ids > 0, hashed(ids + words(columns, 0x85EBCA77)), ops.zeros_like(ids))
    texts = ops.cast(ops.sum(ops.cast(tokens, "int32"), axis=1, keepdims=True), "uint32")  # modulo 2**32
    position_words = hashed(texts + words(positions, 0xC2B2AE3D))
    bits = hashed(
        ops.expand_dims(position_words, -1) + words(ops.arange(vocab_size, dtype="int32"), 0x27D4EB2F)
    )
    # 23 bits and a half are exact in float32, so that no number is 0 or 1.
    bits = ops.cast(ops.right_shift(bits, ops.convert_to_tensor(9, "uint32")), "float32")
    uniform = (bits + 0.5) / 2**23
    return -ops.log(-ops.log(uniform))


def with_tokens(input_ids, positions, tokens):
    """`input_ids` (batch, seq_length) with `tokens` at `positions`, both (batch, predictions).

    Position 0, which holds [CLS] and is never masked, stands for none: it fills rows of fewer predictions.
    """
    batch, predictions = ops.shape(positions)
    rows = ops.repeat(ops.expand_dims(ops.arange(batch, dtype="int32"), 1), predictions, axis=1)
    indices = ops.reshape(ops.stack([rows, positions], axis=-1), (-1, 2))
    tokens = ops.where(positions > 0, tokens, input_ids[:, :1])
    return ops.scatter_update(input_ids, indices, ops.reshape(tokens, (-1,)))
