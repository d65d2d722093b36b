"""A question and a text -> the span of the text that answers."""

import keras
from keras import ops

from kbert.features import SPAN_FEATURES
from kbert.heads.parts import token_head
from kbert.heads.span_head import SpanHead
from kbert.tasks.task import Task, correct, cross_entropies, example_weights
from kbert.tasks.task_model import TaskModel

START_POSITIONS, END_POSITIONS = SPAN_FEATURES


class QuestionAnswering(Task):
    """First and last token of the answer; place 0, the [CLS], where the window holds none.

    The features `start_positions` and `end_positions` are int32 of shape (batch,). The loss is the mean
    of both cross-entropies, each over all places of the sequence, padding too, as in the original.

    Example:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, QuestionAnswering
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = QuestionAnswering().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'start_logits': (2, 7), 'end_logits': (2, 7)}

    Reference: google-research/bert, run_squad.py, `create_model` and `model_fn_builder`.
    """

    name = "question_answering"
    best_metric = "span_accuracy"
    architecture = "BertForQuestionAnswering"
    parts = token_head("span", 2)

    def build_model(self, encoder):
        """Encoder inputs -> float32 `start_logits` and `end_logits`, both (batch, seq_length)."""
        config, encoder = encoder.config, encoder.with_outputs("sequence_output")
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in encoder.input}
        head = SpanHead(initializer_range=config.initializer_range, dtype=encoder.policy, name="span")
        logits = head(encoder(inputs)["sequence_output"])  # (B, 2, S)
        outputs = {"start_logits": logits[:, 0], "end_logits": logits[:, 1]}
        return TaskModel(self, encoder, inputs, outputs)

    def loss_weights(self, batch):
        return {"loss": ops.sum(example_weights(batch))}

    def loss_sums(self, outputs, batch):
        start = cross_entropies(outputs["start_logits"], batch[START_POSITIONS])
        end = cross_entropies(outputs["end_logits"], batch[END_POSITIONS])
        return {"loss": ops.sum((start + end) / 2.0 * example_weights(batch))}

    def metric_sums(self, outputs, batch):
        weights = example_weights(batch)
        total = ops.sum(weights)
        start = correct(outputs["start_logits"], batch[START_POSITIONS])
        end = correct(outputs["end_logits"], batch[END_POSITIONS])
        return {
            "start_accuracy": (ops.sum(start * weights), total),
            "end_accuracy": (ops.sum(end * weights), total),
            "span_accuracy": (ops.sum(start * end * weights), total),
        }
