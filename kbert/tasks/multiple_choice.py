"""Several continuations of a text -> the right one."""

import keras
from keras import ops

from kbert.features import ENCODER_INPUTS, LABEL_FEATURE
from kbert.heads.multiple_choice_head import ChoicesAsBatch, MultipleChoiceHead
from kbert.tasks.task import Task, cross_entropies, example_weights, hits
from kbert.tasks.task_model import TaskModel


class MultipleChoice(Task):
    """Which of several texts, or pairs, is right: a softmax over one logit each.

    The encoder inputs are of shape (batch, choices, seq_length), any number of choices; the feature
    `label_ids` is int32 of shape (batch,), the place of the right one.

    Example:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, MultipleChoice
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = MultipleChoice().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 4, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'logits': (2, 4), 'probabilities': (2, 4)}

    Reference: arXiv 1810.04805, section 4.4 (SWAG).
    """

    name = "multiple_choice"

    def build_model(self, encoder):
        """Encoder inputs of each choice -> float32 `logits` and `probabilities`, both (batch, choices)."""
        config, encoder = encoder.config, encoder.with_outputs("pooled_output")
        inputs = {name: keras.Input((None, None), dtype="int32", name=name) for name in ENCODER_INPUTS}
        as_batch = ChoicesAsBatch(dtype=encoder.policy, name="choices_as_batch")
        encoded = encoder({name: as_batch(value) for name, value in inputs.items()})
        head = MultipleChoiceHead(
            dropout=config.hidden_dropout_prob,
            initializer_range=config.initializer_range,
            dtype=encoder.policy,
            name="multiple_choice",
        )
        logits = head(encoded["pooled_output"], inputs["input_ids"])
        outputs = {"logits": logits, "probabilities": ops.softmax(logits, axis=-1)}
        return TaskModel(self, encoder, inputs, outputs)

    def loss_weights(self, batch):
        return {"loss": ops.sum(example_weights(batch))}

    def loss_sums(self, outputs, batch):
        losses = cross_entropies(outputs["logits"], batch[LABEL_FEATURE])
        return {"loss": ops.sum(losses * example_weights(batch))}

    def metric_sums(self, outputs, batch):
        weights = example_weights(batch)
        right = hits(outputs["logits"], batch[LABEL_FEATURE])
        return {"accuracy": (ops.sum(right * weights), ops.sum(weights))}
