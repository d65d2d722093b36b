"""Tokenizer + packer + trained task as named signatures: text in, answer out."""

import keras
import tensorflow as tf

from kbert.features import ENCODER_INPUTS
from kbert.inference.finite_numbers import load_run_model
from kbert.runs.run_directory import RunDirectory
from kbert.tokenization.text_inputs import TextInputs


class ServingModel:
    """A classification run as functions for a SavedModel.

    Signatures:
      serving_default: `text` (string [batch]), and `text_pair` for a run trained on pairs.
      ids: `input_ids`, `input_mask`, `segment_ids` (int32 [batch, length]), for clients that tokenize.

    Both return `probabilities` and `logits` (float32 [batch, labels]) and `label` (string [batch]). Texts
    longer than the run's `max_seq_length` are truncated as in training.

    Args:
      run: the `RunDirectory` of a sequence classification run.

    Raises:
      ValueError: for a run of another task, or with weights that are not finite.
    """

    def __init__(self, run: RunDirectory):
        if run.details["task"] != "sequence_classification":
            raise ValueError(
                f"{run.path} is a {run.details['task']} run; a serving model needs a "
                "sequence_classification run (run_finetuning)."
            )
        self.source = run.path
        self.task, self.model = load_run_model(run)
        self.takes_pairs = run.config.dataset.text_pair is not None
        self._text_inputs = TextInputs(run.vocabulary(), run.config.max_seq_length)

    def write(self, directory):
        """Writes the SavedModel, each weight once.

        `ExportArchive.track` is not called: it would store every weight twice, and the endpoint
        functions find the variables they capture by themselves.
        """
        text = tf.TensorSpec([None], tf.string, name="text")
        text_pair = tf.TensorSpec([None], tf.string, name="text_pair")
        ids = [tf.TensorSpec([None, None], tf.int32, name=name) for name in ENCODER_INPUTS]
        archive = keras.export.ExportArchive()
        if self.takes_pairs:
            archive.add_endpoint("serving_default", self.answer_text, [text, text_pair])
        else:
            archive.add_endpoint("serving_default", self.answer_text, [text])
        archive.add_endpoint("ids", self.answer_ids, ids)
        archive.write_out(str(directory), verbose=False)

    def answer_text(self, text, text_pair=None):
        return self.answer_ids(**self._text_inputs(text, text_pair, pad_to_longest=True))

    def answer_ids(self, input_ids, input_mask, segment_ids):
        outputs = self.model(
            {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}, training=False
        )
        labels = tf.constant(self.task.labels)
        return {
            "probabilities": outputs["probabilities"],
            "logits": outputs["logits"],
            "label": tf.gather(labels, tf.argmax(outputs["logits"], axis=-1)),
        }
