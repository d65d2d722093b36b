"""Masked LM, with or without next sentence."""

import keras
from keras import ops

from kbert.heads.classification_head import ClassificationHead
from kbert.heads.masked_lm_head import MaskedLMHead
from kbert.tasks.task import Task, cross_entropies, example_weights, hits
from kbert.tasks.task_model import TaskModel

# run_pretraining.py, `get_masked_lm_output`: keeps a batch without predictions from dividing by 0.
_MASKED_LM_EPSILON = 1e-5


class Pretraining(Task):
    """Predict masked tokens, and whether the second text is a random one (label 1) or the real next (0).

    The training loss is the sum of both means, as in google-research/bert, run_pretraining.py. Records of
    ALBERT's sentence order (arXiv 1909.11942, section 3.1) train the same head, under the same names: label 1
    are two texts in the wrong order.

    Args:
      next_sentence: False trains the masked LM alone (RoBERTa, arXiv 1907.11692, section 4.2), on records
        without `next_sentence_labels`: without head, loss and metric of the next sentence, and without the
        pooler, which nothing else trains.

    Example:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, Pretraining
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = Pretraining().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids,
      ...                  "masked_lm_positions": ids[:, :3]})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'masked_lm_logits': (2, 3, 50), 'next_sentence_logits': (2, 2)}
    """

    name = "pretraining"
    best_metric = "masked_lm_loss"

    def __init__(self, next_sentence: bool = True):
        self.next_sentence = next_sentence

    def get_config(self):
        return {"next_sentence": self.next_sentence}

    def build_model(self, encoder):
        """Features `input_ids`, `input_mask`, `segment_ids`, `masked_lm_positions` -> float32
        `masked_lm_logits` (batch, predictions, vocab_size) and, if asked for, `next_sentence_logits`
        (batch, 2)."""
        config = encoder.config
        if not self.next_sentence:
            encoder = encoder.with_outputs("sequence_output")
        inputs = {
            name: keras.Input((None,), dtype="int32", name=name)
            for name in (*encoder.input, "masked_lm_positions")
        }
        encoded = encoder({name: inputs[name] for name in encoder.input})
        hidden_act, layer_norm_eps = config.masked_lm_settings
        masked_lm = MaskedLMHead(
            encoder.embeddings,
            hidden_act,
            layer_norm_eps=layer_norm_eps,
            initializer_range=config.initializer_range,
            dtype=encoder.policy,
            name="masked_lm",
        )
        outputs = {"masked_lm_logits": masked_lm(encoded["sequence_output"], inputs["masked_lm_positions"])}
        if self.next_sentence:
            next_sentence = ClassificationHead(
                num_labels=2,
                dropout=0.0,
                initializer_range=config.initializer_range,
                dtype=encoder.policy,
                name="next_sentence",
            )
            outputs["next_sentence_logits"] = next_sentence(encoded["pooled_output"])
        return TaskModel(self, encoder, inputs, outputs)

    def loss_weights(self, batch):
        weights = {"masked_lm_loss": ops.sum(_prediction_weights(batch)) + _MASKED_LM_EPSILON}
        if self.next_sentence:
            weights["next_sentence_loss"] = ops.sum(example_weights(batch))
        return weights

    def loss_sums(self, outputs, batch):
        masked_lm = cross_entropies(outputs["masked_lm_logits"], batch["masked_lm_ids"])
        sums = {"masked_lm_loss": ops.sum(masked_lm * _prediction_weights(batch))}
        if self.next_sentence:
            labels = batch["next_sentence_labels"][:, 0]
            next_sentence = cross_entropies(outputs["next_sentence_logits"], labels)
            sums["next_sentence_loss"] = ops.sum(next_sentence * example_weights(batch))
        return sums

    def metric_sums(self, outputs, batch):
        predictions = _prediction_weights(batch)
        masked_lm = hits(outputs["masked_lm_logits"], batch["masked_lm_ids"])
        sums = {"masked_lm_accuracy": (ops.sum(masked_lm * predictions), ops.sum(predictions))}
        if self.next_sentence:
            examples = example_weights(batch)
            next_sentence = hits(outputs["next_sentence_logits"], batch["next_sentence_labels"][:, 0])
            sums["next_sentence_accuracy"] = (ops.sum(next_sentence * examples), ops.sum(examples))
        return sums


def _prediction_weights(batch):
    return batch["masked_lm_weights"] * ops.expand_dims(example_weights(batch), 1)
