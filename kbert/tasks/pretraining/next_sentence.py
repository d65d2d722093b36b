"""Does the second text follow the first?"""

from kbert.features import ENCODER_INPUTS, NEXT_SENTENCE_LABELS, pretraining_features
from kbert.heads import classification_head
from kbert.heads.parts import pooled_head
from kbert.late_tensorflow import keras, ops
from kbert.tasks import task_model
from kbert.tasks.file_columns import signature_inputs
from kbert.tasks.losses import correct, cross_entropies, example_mean, example_sum, example_weights
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.signature import Signature, row_signatures
from kbert.tasks.task import CheckpointKind, SoftTarget, Task


class _Serving(Serving):
    inputs, _ = signature_inputs("next_sentence")
    answers = ("next_sentence_probability",)

    def signatures(self, model, text_inputs):
        """`serving_default` and `ids`, see `follow_signatures`."""
        return follow_signatures(model, text_inputs)

    def answer(self, outputs, inputs):
        """`next_sentence_probability`: that the second text follows the first."""
        return {"next_sentence_probability": float(outputs["probability"])}


class NextSentence(Task):
    """Next-sentence prediction alone: label 0 for the real next text, 1 for a random one.

    The feature `next_sentence_labels` is int32 of shape (batch, 1), as in pretraining.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, NextSentence
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = NextSentence().build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'next_sentence_logits': (2, 2), 'probabilities': (2, 2)}

    Reference: google-research/bert, run_pretraining.py, `get_next_sentence_output`.
    """

    name = "next_sentence"
    best_metric = "next_sentence_accuracy"
    checkpoint = CheckpointKind("BertForNextSentencePrediction")
    serving_class = _Serving
    parts = pooled_head("next_sentence")

    def features(self, max_seq_length):
        return pretraining_features(max_seq_length, 0, with_masks=False)

    def build_model(self, encoder):
        """Encoder inputs -> float32 `next_sentence_logits` and `probabilities`, both (batch, 2)."""
        encoder = encoder.with_outputs("pooled_output")
        inputs = task_model.token_inputs(encoder.input)
        logits = next_sentence_head(encoder)(encoder(inputs)["pooled_output"])
        outputs = {"next_sentence_logits": logits, "probabilities": ops.softmax(logits, axis=-1)}
        return task_model.TaskModel(self, encoder, inputs, outputs)

    def loss_weights(self, batch, training=False):
        return {"next_sentence_loss": ops.sum(example_weights(batch))}

    def loss_sums(self, outputs, batch, training=False):
        losses = cross_entropies(outputs["next_sentence_logits"], batch[NEXT_SENTENCE_LABELS][:, 0])
        return {"next_sentence_loss": example_sum(losses, batch)}

    def soft_targets(self, outputs, batch):
        target = SoftTarget(outputs["next_sentence_logits"], example_weights(batch))
        return {"next_sentence_loss": (target,)}

    def metric_sums(self, outputs, batch):
        right = correct(outputs["next_sentence_logits"], batch[NEXT_SENTENCE_LABELS][:, 0])
        return {"next_sentence_accuracy": example_mean(right, batch)}


def next_sentence_head(encoder) -> "classification_head.ClassificationHead":
    """The head on the pooled output of a `BertEncoder`: two logits, label 0 for the next text."""
    return classification_head.ClassificationHead(
        encoder.config, 2, dropout=0.0, dtype=encoder.policy, name="next_sentence"
    )


def follow_signatures(model: "keras.Model", text_inputs) -> dict[str, Signature]:
    """The signatures that tell how probable it is that a text follows another.

    Args:
      model: a Keras model with the output `next_sentence_logits` (batch, 2); label 0 is the next text.
      text_inputs: the `TextInputs` of the model.

    Returns:
      "serving_default" and "ids", which give `probability` (float32 [batch]): of `text` and `text_pair`
      (string [batch]), and of encoder inputs (int32 [batch, length]) with the second text as segment 1.
    """
    inputs = {name: model.input[name] for name in ENCODER_INPUTS}
    # Without the masked-LM head, which reads positions and has a whole vocabulary of outputs.
    next_sentence_model = keras.Model(inputs, model.output["next_sentence_logits"])

    def follow_ids(inputs):
        return {"probability": ops.softmax(next_sentence_model(inputs, training=False), axis=-1)[:, 0]}

    return row_signatures(("text", "text_pair"), follow_ids, model, text_inputs)
