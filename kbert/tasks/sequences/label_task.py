"""The base class of tasks that give labels to a text or a pair of texts."""

import dataclasses
from collections.abc import Callable

import numpy as np

from kbert.features import EXAMPLE_WEIGHTS, LABEL_FEATURE
from kbert.input_pipelines import labelled_files
from kbert.tasks.label_losses import BALANCED, balanced_weights
from kbert.tasks.sequences.sequence_task import SequenceTask
from kbert.tasks.sequences.settings import LabelSettings
from kbert.tasks.temperature import SOFTMAX, calibration_metrics, probabilities_of


class LabelTask(SequenceTask):
    """A sequence task with one output for each label.

    Attributes:
      labels: the label names in id order.
      names_of: the function from what an example has as its label to the names in it.
      settings: a `settings_class`, which has the settings of `LabelSettings`.
      kind: "softmax", one label of several, or "sigmoid", each label for itself.
    """

    settings_class: type[LabelSettings] = LabelSettings
    kind: str = SOFTMAX
    answered = ("logits", LABEL_FEATURE)

    head = "classification"
    architecture = "BertForSequenceClassification"
    has_labels = True
    labels: tuple[str, ...]
    names_of: Callable = staticmethod(lambda label: (label,))
    settings: LabelSettings

    def __init__(self, labels, takes_pairs=None, **settings):
        super().__init__(takes_pairs, **settings)
        self.labels = tuple(labels)
        self.settings.check_labels(self.labels)

    def get_config(self):
        return {
            "labels": list(self.labels),
            "takes_pairs": self.takes_pairs,
            **dataclasses.asdict(self.settings),
        }

    def for_training(self, count_labels):
        """Itself, with numbers in the place of `class_weights="balanced"`."""
        if self.settings.class_weights != BALANCED:
            return self
        weights = self.balanced(*count_labels())
        return type(self)(**self.get_config() | {"class_weights": weights})

    def balanced(self, counts, num_examples: int) -> dict[str, float]:
        """The weights that "balanced" stands for, by label."""
        return balanced_weights(counts, self.labels)

    @classmethod
    def labels_of(cls, example):
        return tuple(cls.names_of(example.label))

    @classmethod
    def stratum_of(cls, example):
        """Its label, or its labels together."""
        return repr(sorted(cls.labels_of(example)))

    @classmethod
    def of_labels(cls, labels):
        return cls(labels)

    @property
    def num_outputs(self):
        return len(self.labels)

    @property
    def one_text_output(self):
        return None if self.takes_pairs else "probabilities"

    def outputs_of(self, logits):
        """float32 `logits` and `probabilities`, both (batch, labels)."""
        return {"logits": logits, "probabilities": self.probabilities(logits, self.settings.temperature)}

    def probabilities(self, logits, temperature: float):
        """Those of a tensor or array of logits, (..., labels), at a temperature."""
        return probabilities_of(logits, temperature, self.kind)

    def logits_of(self, outputs):
        return outputs["logits"]

    def score(self, examples, predictions):
        """`calibration_metrics`, and what `threshold_scores` adds; where texts have windows, all metrics but
        the loss, of texts."""
        texts = self.by_text(predictions).values
        logits, labels = (texts[name] for name in self.answered)
        found = self._metrics_of(logits, labels) if self.settings.in_windows else {}
        calibration = calibration_metrics(logits, labels, self.settings.temperature, self.kind)
        if not calibration:  # the logits are not finite
            return found
        probabilities = np.asarray(self.probabilities(logits, calibration["chosen_temperature"]))
        return found | calibration | self.threshold_scores(probabilities, labels)

    def _metrics_of(self, logits, labels):
        batch = {LABEL_FEATURE: labels, EXAMPLE_WEIGHTS: np.ones(len(labels), np.float32)}
        sums = self.metric_sums(self.outputs_of(logits), batch)
        arrays = {name: tuple(map(np.asarray, pair)) for name, pair in sums.items()}
        return self.summarize({name: s / weight if weight else s for name, (s, weight) in arrays.items()})

    def threshold_scores(self, probabilities, labels) -> dict:
        """Metrics with the thresholds that are best for these arrays of probabilities and `label_ids`."""
        return {}

    def example_signature(self, texts):
        """`classify`: all labels, in id order, and the probability of each."""
        import tensorflow as tf

        from kbert.tasks.signatures.example_signature import CLASSIFY, classify_signature

        def classes(outputs, inputs):
            return tf.broadcast_to(tf.constant(self.labels), tf.shape(outputs["probabilities"]))

        return CLASSIFY, classify_signature(texts, classes)

    @classmethod
    def complete_dataset(cls, dataset, examples):
        """The dataset; if it lists no labels, with the sorted labels of the examples."""
        if dataset.labels:
            return dataset
        names = (name for example in examples for name in cls.names_of(example.label))
        return dataclasses.replace(dataset, labels=labelled_files.labels_of(names))
