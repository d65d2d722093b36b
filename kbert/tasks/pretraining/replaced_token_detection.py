"""Replaced token detection, ELECTRA's objective (arXiv 2003.10555)."""

import dataclasses

import keras
from keras import ops

from kbert.config import EncoderConfig, PretrainingConfig
from kbert.encoder import BertEncoder
from kbert.heads.classification_head import TokenClassificationHead
from kbert.heads.parts import Part
from kbert.kernels.dropout import hashed
from kbert.tasks.losses import example_weights
from kbert.tasks.pretraining.objectives import MaskedLM, masked_lm_head, masked_lm_inputs
from kbert.tasks.task import Task
from kbert.tasks.task_model import TaskModel

_LOSS_FACTOR = 50.0  # arXiv 2003.10555, section 3.1
_GENERATOR_SHARE = 4  # its heads and widths are a quarter of the encoder's: section 3.2


def generator_config(config: EncoderConfig) -> EncoderConfig:
    """The generator of an encoder: as many layers, a quarter of the heads, each as wide.

    It reads the encoder's embeddings, and its output matrix is their token table. It has no table of relative
    positions: MPNet's has a column for each head of the encoder.
    """
    heads = max(1, config.num_attention_heads // _GENERATOR_SHARE)
    return dataclasses.replace(
        config,
        num_attention_heads=heads,
        hidden_size=config.hidden_size // config.num_attention_heads * heads,
        intermediate_size=max(1, config.intermediate_size * heads // config.num_attention_heads),
        embedding_size=config.embedding_width,
        relative_attention_num_buckets=None,
    )


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


class ReplacedTokenDetection(Task):
    """Tells which tokens a small masked LM, the generator, has replaced: every token of a text teaches.

    The generator trains beside the encoder, on the masked tokens, with the same tables. The tokens it draws
    for them stand in the encoder's input. The training loss is the generator's and 50 times the encoder's.
    The generator is a quarter as wide as the encoder and as deep.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, ReplacedTokenDetection
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = ReplacedTokenDetection().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids,
      ...                  "masked_lm_positions": ids[:, :3]})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'masked_lm_logits': (2, 3, 50), 'seen_ids': (2, 7), 'replaced_token_logits': (2, 7)}
    """

    name = "replaced_token_detection"
    config_class = PretrainingConfig
    best_metric = "replaced_token_loss"
    learns_from_teacher = False
    parts = (
        Part("generator", "masked_positions"),
        Part("replaced_token", "sequence_output"),
    )
    pairing = None  # records of any --pairing
    next_sentence = False
    _masked_lm = MaskedLM()  # the generator's loss and accuracy

    def describe(self, row, vocabulary):
        return self._masked_lm.describe(row, vocabulary)

    def build_model(self, encoder):
        """Features as for `MaskedLM` -> its `masked_lm_logits`, those of the generator; `seen_ids` (batch,
        seq_length), the tokens that the encoder sees; float32 `replaced_token_logits` (batch, seq_length)."""
        encoder = encoder.with_outputs("sequence_output")
        config, inputs = encoder.config, masked_lm_inputs(encoder)
        positions = inputs["masked_lm_positions"]
        with keras.name_scope("generator"):
            generator = BertEncoder(
                generator_config(config),
                encoder.policy,
                ("sequence_output",),
                "generator",
                packed=encoder.packed,
                recompute=encoder.recompute,
                embeddings=encoder.embeddings,
            )
            encoded = generator({name: inputs[name] for name in generator.input})
            masked_lm_logits = masked_lm_head(generator)(encoded["sequence_output"], positions)
        drawn = DrawnTokens(dtype="float32", name="drawn_tokens")
        seen_ids = drawn(inputs["input_ids"], inputs["input_mask"], positions, masked_lm_logits)
        encoded = encoder({name: inputs[name] for name in encoder.input} | {"input_ids": seen_ids})
        head = ReplacedTokenHead(config, dtype=encoder.policy, name="replaced_token")
        outputs = {
            "masked_lm_logits": masked_lm_logits,
            "seen_ids": seen_ids,
            "replaced_token_logits": head(encoded["sequence_output"]),
        }
        return TaskModel(self, encoder, inputs, outputs)

    def loss_factor(self, name, progress=1.0):
        return _LOSS_FACTOR if name == self.best_metric else 1.0

    def loss_weights(self, batch, training=False):
        return self._masked_lm.loss_weights(batch) | {"replaced_token_loss": ops.sum(_token_weights(batch))}

    def loss_sums(self, outputs, batch, training=False):
        losses = ops.binary_crossentropy(
            _is_replaced(outputs, batch), outputs["replaced_token_logits"], from_logits=True
        )
        return self._masked_lm.loss_sums(outputs, batch) | {
            "replaced_token_loss": ops.sum(losses * _token_weights(batch))
        }

    def metric_sums(self, outputs, batch):
        """Also the share of tokens that are told rightly, and of the replaced ones among them."""
        is_replaced, weights = _is_replaced(outputs, batch), _token_weights(batch)
        is_right = ops.cast((outputs["replaced_token_logits"] > 0) == (is_replaced > 0), "float32") * weights
        return self._masked_lm.metric_sums(outputs, batch) | {
            "replaced_token_accuracy": (ops.sum(is_right), ops.sum(weights)),
            "replaced_token_recall": (ops.sum(is_right * is_replaced), ops.sum(is_replaced * weights)),
        }

    def baseline(self, batches, vocabulary):
        """Those of the generator."""
        return self._masked_lm.baseline(batches, vocabulary)


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


def _is_replaced(outputs, batch):
    texts = with_tokens(batch["input_ids"], batch["masked_lm_positions"], batch["masked_lm_ids"])
    return ops.cast(outputs["seen_ids"] != texts, "float32")


def _token_weights(batch):
    return ops.cast(batch["input_mask"], "float32") * ops.expand_dims(example_weights(batch), 1)
