"""The pretraining objectives: masked LM alone, with next sentence, or with sentence order."""

import keras
import numpy as np
import tensorflow as tf
from keras import ops

from kbert.config import PretrainingConfig
from kbert.features import NEXT_SENTENCE_LABELS
from kbert.heads.classification_head import ClassificationHead
from kbert.heads.masked_lm_head import MaskedLMHead
from kbert.heads.parts import MASKED_LM, POOLER, Part
from kbert.tasks.task import Signature, SoftTarget, Task, correct, cross_entropies, example_weights
from kbert.tasks.task_model import TaskModel
from kbert.tokenization.vocabulary import MASK_TOKEN

# Prevents a division by 0 in a batch without predictions; run_pretraining.py, `get_masked_lm_output`.
_MASKED_LM_EPSILON = 1e-5


class MaskedLM(Task):
    """Predicts masked tokens, and nothing else (RoBERTa, arXiv 1907.11692, section 4.2).

    There is no pooler, because this loss would not train it. Records come from create_pretraining_data;
    labels of sentence pairs in them are ignored.

    Example:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, MaskedLM
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = MaskedLM().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids,
      ...                  "masked_lm_positions": ids[:, :3]})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'masked_lm_logits': (2, 3, 50)}
    """

    name = "masked_lm"
    config_class = PretrainingConfig
    best_metric = "masked_lm_loss"
    inputs = ("text",)
    answers = ("masks",)
    architecture = "BertForMaskedLM"
    parts: tuple[Part, ...] = (MASKED_LM,)
    # The --strategy of create_pretraining_data that makes records for this task; None: any strategy.
    strategy: str | None = None

    @classmethod
    def of_old_run(cls, details, config):
        """The task of an older run, which records `next_sentence` instead of `task_config`."""
        return cls()

    @property
    def next_sentence(self) -> bool:
        """Whether there is a second head, for the relation of two texts (next sentence or order)."""
        return len(self.parts) > 1

    def describe(self, row, vocabulary):
        (example,) = super().describe(row, vocabulary)
        right = row["masked_lm_ids"][row["masked_lm_weights"] > 0]
        label = ""
        if NEXT_SENTENCE_LABELS in row:
            label = f"; {NEXT_SENTENCE_LABELS} {int(row[NEXT_SENTENCE_LABELS][0])}"
        return [example, f"answers: {' '.join(vocabulary.tokens[i] for i in right)}{label}"]

    def build_model(self, encoder):
        """Features `input_ids`, `input_mask`, `segment_ids`, `masked_lm_positions` -> float32
        `masked_lm_logits` (batch, predictions, vocab_size) and, if there is a second head,
        `next_sentence_logits` (batch, 2)."""
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
        return {"masked_lm_loss": ops.sum(_prediction_weights(batch)) + _MASKED_LM_EPSILON}

    def loss_sums(self, outputs, batch):
        masked_lm = cross_entropies(outputs["masked_lm_logits"], batch["masked_lm_ids"])
        return {"masked_lm_loss": ops.sum(masked_lm * _prediction_weights(batch))}

    def soft_targets(self, outputs, batch):
        return {"masked_lm_loss": (SoftTarget(outputs["masked_lm_logits"], _prediction_weights(batch)),)}

    def metric_sums(self, outputs, batch):
        predictions = _prediction_weights(batch)
        masked_lm = correct(outputs["masked_lm_logits"], batch["masked_lm_ids"])
        return {"masked_lm_accuracy": (ops.sum(masked_lm * predictions), ops.sum(predictions))}

    def baseline(self, batches, vocabulary):
        """`baseline_accuracy` of always answering the token that is masked most often; `baseline_token`."""
        counts = np.zeros(len(vocabulary))
        for batch in batches:
            np.add.at(counts, batch["masked_lm_ids"], batch["masked_lm_weights"])
        return {
            "baseline_accuracy": float(counts.max() / counts.sum()),
            "baseline_token": vocabulary.tokens[int(counts.argmax())],
        }

    def signatures(self, model, text_inputs):
        """`serving_default`: `text` (string [batch]) with `[MASK]`s, and `top_k` (int32 scalar) -> for every
        mask `tokens` (string) and `probabilities` (float32), [batch, masks, top_k], the most probable first,
        where `masks` is the largest number of masks of a text; and `num_masks` (int32 [batch])."""
        vocabulary = text_inputs.vocabulary

        def fill(text, top_k):
            inputs = text_inputs(text, pad_to_longest=True, with_masks=True)
            positions, num_masks = _places_of(inputs["input_ids"], vocabulary.mask_id)
            inputs["masked_lm_positions"] = positions
            logits = model(inputs, training=False)["masked_lm_logits"]
            # The embedding table may have more rows than the vocabulary has tokens.
            probabilities = tf.nn.softmax(logits[..., : len(vocabulary)])
            best, ids = tf.math.top_k(probabilities, k=tf.minimum(top_k, len(vocabulary)))
            tokens = tf.gather(tf.constant(vocabulary.tokens), ids)
            return {"tokens": tokens, "probabilities": best, "num_masks": num_masks}

        inputs = {"text": ("string", (None,)), "top_k": ("int32", ())}
        return {"serving_default": Signature(inputs, fill)}

    def check_inputs(self, inputs):
        if MASK_TOKEN not in inputs["text"]:
            raise ValueError(
                f"no {MASK_TOKEN} in {inputs['text'][:60]!r}; write one where the model should fill in a "
                "token."
            )

    def answer(self, outputs, inputs):
        """`masks`: for each mask, in order, a list of `{"token": str, "probability": float}`."""
        if outputs["num_masks"] < inputs["text"].count(MASK_TOKEN):
            raise ValueError(
                f"the {MASK_TOKEN} of {inputs['text'][:60]!r}... lies beyond the longest sequence of this "
                "model; shorten the text."
            )
        rows = zip(outputs["tokens"], outputs["probabilities"], strict=True)
        return {
            "masks": [
                [
                    {"token": token.decode("utf-8"), "probability": float(probability)}
                    for token, probability in zip(tokens, probabilities, strict=True)
                ]
                for tokens, probabilities in list(rows)[: outputs["num_masks"]]
            ]
        }


class Pretraining(MaskedLM):
    """Predicts masked tokens, and whether the second text is a random one (label 1) or the real next one (0).

    The training loss is the sum of both means, as in google-research/bert, run_pretraining.py.

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
    architecture = "BertForPreTraining"
    parts = (POOLER, MASKED_LM, Part("next_sentence", "pooled_output", 2))
    strategy = "sentence_pairs"

    @classmethod
    def of_old_run(cls, details, config):
        return cls() if details.get("next_sentence", True) else MaskedLM()

    def loss_weights(self, batch):
        return super().loss_weights(batch) | {"next_sentence_loss": ops.sum(example_weights(batch))}

    def loss_sums(self, outputs, batch):
        losses = cross_entropies(outputs["next_sentence_logits"], batch[NEXT_SENTENCE_LABELS][:, 0])
        return super().loss_sums(outputs, batch) | {
            "next_sentence_loss": ops.sum(losses * example_weights(batch))
        }

    def soft_targets(self, outputs, batch):
        target = SoftTarget(outputs["next_sentence_logits"], example_weights(batch))
        return super().soft_targets(outputs, batch) | {"next_sentence_loss": (target,)}

    def metric_sums(self, outputs, batch):
        examples = example_weights(batch)
        right = correct(outputs["next_sentence_logits"], batch[NEXT_SENTENCE_LABELS][:, 0])
        return super().metric_sums(outputs, batch) | {
            "next_sentence_accuracy": (ops.sum(right * examples), ops.sum(examples))
        }


class SentenceOrder(Pretraining):
    """Predicts masked tokens, and whether two consecutive texts were swapped (label 1) or not (0).

    This is the objective of ALBERT (arXiv 1909.11942, section 3.1). Model, losses and metrics are those of
    `Pretraining`, also their names (`next_sentence_...`); only the records differ.
    """

    name = "sentence_order"
    strategy = "sentence_order"


def objective_of(manifest) -> str:
    """The name of the task that pretraining records were made for, by their manifest."""
    if NEXT_SENTENCE_LABELS not in manifest.features:
        return MaskedLM.name
    is_order = manifest.settings.get("strategy") == SentenceOrder.strategy
    return SentenceOrder.name if is_order else Pretraining.name


def _places_of(input_ids, token_id):
    """The positions of a token in each row, padded with 0 to the longest row; and their number per row."""
    found = input_ids == token_id  # (B, S)
    num_found = tf.reduce_sum(tf.cast(found, tf.int32), axis=1)
    places = tf.RaggedTensor.from_row_lengths(tf.cast(tf.where(found)[:, 1], tf.int32), num_found)
    places = places.to_tensor()
    missing = tf.maximum(1 - tf.shape(places)[1], 0)  # a text that was cut may have none left
    return tf.pad(places, [[0, 0], [0, missing]]), num_found


def _prediction_weights(batch):
    return batch["masked_lm_weights"] * ops.expand_dims(example_weights(batch), 1)
