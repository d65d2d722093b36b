"""What tasks on one text or a pair of texts share: the rows, the model, the signatures."""

import dataclasses
from typing import Any

import numpy as np
from absl import logging

from kbert.features import EXAMPLE_WEIGHTS, LABEL_FEATURE, WINDOW_FEATURE, encoder_features
from kbert.heads import classification_head
from kbert.heads.parts import pooled_head
from kbert.input_pipelines import text_reader
from kbert.input_pipelines.label_names import require_label_names
from kbert.late_tensorflow import ops, tf
from kbert.tasks import task_model
from kbert.tasks.file_columns import RAW_SCORES, signature_inputs
from kbert.tasks.label_losses import OF_TRAINING
from kbert.tasks.losses import example_weights
from kbert.tasks.sequences.long_texts import LongTexts
from kbert.tasks.serving import Serving
from kbert.tasks.signatures.example_signature import CLASSIFY, classify_signature
from kbert.tasks.signatures.signature import TRUNCATED, Signature, ids_signature, texts_signature, traced_once
from kbert.tasks.task import ExampleFeatures, Predictions, Task
from kbert.tasks.temperature import Temperature

_HEAD = "classification"  # of regression too, as in published checkpoints


class SequenceTask(Task):
    """One text, or a pair of texts -> logits from the pooled output: one for each label, or one number.

    A text that is too long is cut, or, by the settings, becomes several rows: windows of it. Each window then
    learns the label of its text; the loss counts windows, and scores and answers are of texts.

    Args:
      labels: the label names in id order; none for a number.
      takes_pairs: whether examples are pairs; None when this is not known, then both are accepted.
      settings: those of the `settings_class`, by name.

    Attributes:
      kind: "softmax", one label of several; "sigmoid", each label for itself; None for a number.
      long_texts: the `LongTexts`.
      loss: what weighs and computes the losses, with the methods of `OneLabelLoss`.
      temperature: the `Temperature` of the probabilities; None for a number.
      thresholds: what gives labels by their probabilities, with the methods of `LabelThresholds`; or None.
    """

    row_settings = ("long_texts", "doc_stride")
    loss_settings = OF_TRAINING
    no_scores = ("temperature", "_threshold")
    kind: str | None = None
    scored = ("logits", LABEL_FEATURE)  # the output and the label that losses and `score` need

    def __init__(self, labels, takes_pairs: bool | None = None, **settings):
        super().__init__(**settings)
        self.labels, self.takes_pairs = require_label_names(labels), takes_pairs
        self.long_texts = LongTexts(self.settings, self.kind)
        self.temperature: Any = None
        self.thresholds: Any = None
        if self.kind:
            self.settings.check_labels(self.labels)
            self.temperature = Temperature(self.settings.temperature, self.kind)

    def get_config(self):
        labels = {"labels": list(self.labels)} if self.kind else {}
        return labels | {"takes_pairs": self.takes_pairs, **super().get_config()}

    @classmethod
    def dataset_arguments(cls, dataset):
        return {"labels": dataset.labels, "takes_pairs": bool(dataset.text_pair)}

    @classmethod
    def from_labels(cls, labels):
        return cls(labels)

    @property
    def not_in_answers(self):
        neutral = (self.thresholds.name,) if self.thresholds and self.thresholds.are_neutral else ()
        return (*self.loss_settings, "threshold_metric", *neutral)

    @property
    def collected(self):
        return (*self.scored, *self.long_texts.features)

    # ------------------------------------------------------------------------------- examples

    def for_training(self, count_labels):
        task = super().for_training(count_labels)
        if task is not self and self.long_texts.in_windows:
            logging.info(
                "class_weights: these count texts, and the loss counts windows, so a label of longer texts "
                "weighs more; a table label -> weight can say otherwise."
            )
        return task

    def check_examples(self, examples, max_seq_length):
        self.long_texts.check(max_seq_length)

    def features(self, max_seq_length):
        return encoder_features(max_seq_length) | self.long_texts.features

    def one_row_reader(self, text_inputs):
        return text_inputs if self.long_texts.in_windows else self.long_texts.reader(text_inputs)

    def examples_to_features(self, examples, text_inputs):
        """Encoder inputs, int32 of shape (rows, max_seq_length), and the labels; one row for each example, or
        for each of its windows, with `window_numbers`."""
        features = text_reader.tokenize_rows(examples, self.long_texts.reader(text_inputs))
        owners = self.long_texts.owners(features, len(examples))
        labels = {name: values[owners] for name, values in self.label_features(examples).items()}
        return ExampleFeatures(features | labels, owners)

    def label_features(self, examples) -> dict[str, np.ndarray]:
        """The labels: name -> array of shape (examples, ...)."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------- model

    @property
    def parts(self):
        return pooled_head(_HEAD, has_labels=bool(self.labels))

    def build_model(self, encoder):
        """Encoder inputs -> what `outputs` makes of the logits."""
        encoder = encoder.with_outputs("pooled_output")
        inputs = task_model.token_inputs(encoder.input)
        head = classification_head.ClassificationHead(
            encoder.config, len(self.labels) or 1, dtype=encoder.policy, name=_HEAD
        )
        return task_model.TaskModel(
            self, encoder, inputs, self.outputs(head(encoder(inputs)["pooled_output"]))
        )

    def outputs(self, logits) -> dict:
        """The outputs of the model, float32 `logits` and `probabilities`, both (batch, labels)."""
        return {"logits": logits, "probabilities": self.temperature.probabilities(logits)}

    def logits(self, outputs: dict):
        """The logits, float32 (batch, number of outputs), of the outputs of the model."""
        return outputs["logits"]

    # ------------------------------------------------------------------------------- losses

    def loss_weights(self, batch, training=False):
        return {"loss": ops.sum(self._weights(batch, training))}

    def loss_sums(self, outputs, batch, training=False):
        output, label = self.scored
        losses = self.loss.losses(outputs[output], batch[label], training)
        return {"loss": ops.sum(losses * self._weights(batch, training))}

    def _weights(self, batch, training):
        return self.loss.weights(example_weights(batch), batch[self.scored[1]], training)

    # ------------------------------------------------------------------------------- texts of windows

    def outputs_by_text(self, outputs: dict, window_numbers) -> dict:
        """The outputs of texts, name -> tensor, from those of their windows."""
        return self.outputs(self.long_texts.pool(self.logits(outputs), window_numbers))

    def by_text(self, predictions: Predictions) -> Predictions:
        """Predictions with one row for each text: pooled outputs, its labels, all of its tokens."""
        if not self.long_texts.in_windows:
            return predictions
        texts = self.long_texts.first_windows(predictions.values)
        numbers = texts.pop(WINDOW_FEATURE)
        pooled = self.outputs_by_text(predictions.values, predictions.values[WINDOW_FEATURE])
        texts |= {name: np.asarray(value) for name, value in pooled.items()}
        return Predictions(texts, np.arange(len(numbers)))

    # ------------------------------------------------------------------------------- scores of labels

    def score(self, examples, predictions):
        """See `Temperature.metrics`; the thresholds that are best for these data; and of windows all of
        `metric_sums`. Neither temperature nor thresholds where logits are not finite."""
        texts = self.by_text(predictions).values
        logits, labels = (texts[name] for name in self.scored)
        metrics = self._metrics(logits, labels) if self.long_texts.in_windows else {}
        calibration = self.temperature.metrics(logits, labels)
        metrics |= calibration
        if calibration and self.thresholds:
            best = dataclasses.replace(self.temperature, value=calibration["chosen_temperature"])
            metrics |= self.thresholds.metrics(np.asarray(best.probabilities(logits)), labels)
        return metrics

    def _metrics(self, logits, labels):
        batch = {LABEL_FEATURE: labels, EXAMPLE_WEIGHTS: np.ones(len(labels), np.float32)}
        sums = self.metric_sums(self.outputs(logits), batch)
        arrays = {name: tuple(map(np.asarray, pair)) for name, pair in sums.items()}
        return self.summarize({name: s / weight if weight else s for name, (s, weight) in arrays.items()})

    @property
    def chooses(self):
        return ("temperature", self.thresholds.name) if self.thresholds else ("temperature",)

    def chosen(self, metrics):
        """The temperature, and the thresholds."""
        own = self.thresholds.chosen(metrics) if self.thresholds else {}
        return {"temperature": metrics["chosen_temperature"]} | own


class SequenceServing(Serving):
    """Answers to texts, or to pairs of texts. `example_signature` is what a task adds."""

    def __init__(self, task: SequenceTask):
        super().__init__(task)
        self.inputs, self.other_inputs = signature_inputs("sequence_classification", task.takes_pairs)
        self.cuts_long_texts = task.long_texts.are_cut
        self.in_windows = task.long_texts.in_windows
        self.row_texts = self.inputs if self.cuts_long_texts else ()
        self.one_text_output = "probabilities" if task.kind and not task.takes_pairs else None

    settings = {RAW_SCORES: False}

    def raw_answer(self, outputs, inputs):
        """The answer with `logits`, label -> logit, in the place of probabilities."""
        if "logits" not in outputs:
            raise ValueError("this file gives no logits; ask the run or the checkpoint that it was made of.")
        answer = self.answer(outputs, inputs)
        del answer["probabilities"]
        logits = zip(self.task.labels, outputs["logits"], strict=True)
        return answer | {"logits": {label: float(logit) for label, logit in logits}}

    def example_signature(self, texts: Signature) -> tuple[str, Signature]:
        """`classify`: all labels, in id order, and the probability of each."""

        def classes(outputs, inputs):
            return tf.broadcast_to(tf.constant(self.task.labels), tf.shape(outputs["probabilities"]))

        return CLASSIFY, classify_signature(texts, classes)

    def signatures(self, model, text_inputs):
        """`serving_default` takes `text` (string [batch]), and also `text_pair` if examples are pairs; where
        that is not known, `pair` takes both. `ids` takes `input_ids`, `input_mask` and `segment_ids` (int32
        [batch, length]): a row each, which are not pooled. `example_signature` takes tf.Examples with the
        same texts; its name ends in `_pair` where `pair` is its origin."""
        read = self.task.long_texts.reader(text_inputs)

        def answer_ids(inputs):
            return self.served(model(inputs, training=False))

        def answer_text(text, text_pair=None):
            rows, truncated = read.rows(text, text_pair)
            rows = dict(rows)
            numbers = rows.pop(WINDOW_FEATURE, None)
            outputs = model(rows, training=False)
            if numbers is not None:
                outputs = self.task.outputs_by_text(outputs, numbers)
            return self.served(outputs) | {TRUNCATED: truncated}

        by_texts = {
            name: traced_once(texts_signature(inputs, answer_text))
            for name, inputs in self.by_signature.items()
        }
        signatures = by_texts | {"ids": ids_signature(answer_ids, model, text_inputs)}
        for name, texts in by_texts.items():
            kind, signature = self.example_signature(texts)
            signatures[kind if name == "serving_default" else f"{kind}_{name}"] = signature
        return signatures

    def label_names(self, like):
        """The names of the labels, bytes (labels,): an array for answers that are arrays, else a tensor."""
        if isinstance(like, np.ndarray):
            return np.array([label.encode("utf-8") for label in self.task.labels], object)
        return tf.constant(self.task.labels)

    def label_probabilities(self, outputs: dict) -> dict[str, float]:
        """The probability of every label of one example."""
        return {label: float(p) for label, p in zip(self.task.labels, outputs["probabilities"], strict=True)}
