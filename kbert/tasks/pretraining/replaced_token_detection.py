"""Replaced token detection, ELECTRA's objective (arXiv 2003.10555)."""

import dataclasses

from kbert.config import EncoderConfig, PretrainingConfig
from kbert.heads import replaced_token_head
from kbert.heads.parts import Part
from kbert.late_tensorflow import keras, ops
from kbert.tasks import task_model
from kbert.tasks.losses import token_weights
from kbert.tasks.pretraining.objectives import MaskedLM, masked_lm_head, masked_lm_inputs
from kbert.tasks.task import Task

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
    _masked_lm = MaskedLM()  # the generator's loss and accuracy

    def features(self, max_seq_length):
        return self._masked_lm.features(max_seq_length)

    def describe(self, row, vocabulary):
        return self._masked_lm.describe(row, vocabulary)

    def build_model(self, encoder):
        """Features as for `MaskedLM` -> its `masked_lm_logits`, those of the generator; `seen_ids` (batch,
        seq_length), the tokens that the encoder sees; float32 `replaced_token_logits` (batch, seq_length)."""
        encoder = encoder.with_outputs("sequence_output")
        config, inputs = encoder.config, masked_lm_inputs(encoder)
        positions = inputs["masked_lm_positions"]
        with keras.name_scope("generator"):
            generator = type(encoder)(
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
        drawn = replaced_token_head.DrawnTokens(dtype="float32", name="drawn_tokens")
        seen_ids = drawn(inputs["input_ids"], inputs["input_mask"], positions, masked_lm_logits)
        encoded = encoder({name: inputs[name] for name in encoder.input} | {"input_ids": seen_ids})
        head = replaced_token_head.ReplacedTokenHead(config, dtype=encoder.policy, name="replaced_token")
        outputs = {
            "masked_lm_logits": masked_lm_logits,
            "seen_ids": seen_ids,
            "replaced_token_logits": head(encoded["sequence_output"]),
        }
        return task_model.TaskModel(self, encoder, inputs, outputs)

    def loss_factor(self, name, progress=1.0):
        return _LOSS_FACTOR if name == self.best_metric else 1.0

    def loss_weights(self, batch, training=False):
        return self._masked_lm.loss_weights(batch) | {"replaced_token_loss": ops.sum(token_weights(batch))}

    def loss_sums(self, outputs, batch, training=False):
        losses = ops.binary_crossentropy(
            _is_replaced(outputs, batch), outputs["replaced_token_logits"], from_logits=True
        )
        return self._masked_lm.loss_sums(outputs, batch) | {
            "replaced_token_loss": ops.sum(losses * token_weights(batch))
        }

    def metric_sums(self, outputs, batch):
        """Also the share of tokens that are told rightly, and of the replaced ones among them."""
        is_replaced, weights = _is_replaced(outputs, batch), token_weights(batch)
        is_right = ops.cast((outputs["replaced_token_logits"] > 0) == (is_replaced > 0), "float32") * weights
        return self._masked_lm.metric_sums(outputs, batch) | {
            "replaced_token_accuracy": (ops.sum(is_right), ops.sum(weights)),
            "replaced_token_recall": (ops.sum(is_right * is_replaced), ops.sum(is_replaced * weights)),
        }

    def label_masks(self, labels, batch):
        return self._masked_lm.label_masks(labels, batch)

    def baseline(self, batches, vocabulary):
        """Those of the generator."""
        return self._masked_lm.baseline(batches, vocabulary)


def _is_replaced(outputs, batch):
    texts = replaced_token_head.with_tokens(
        batch["input_ids"], batch["masked_lm_positions"], batch["masked_lm_ids"]
    )
    return ops.cast(outputs["seen_ids"] != texts, "float32")
