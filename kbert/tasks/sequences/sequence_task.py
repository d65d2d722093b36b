"""The base class of tasks on one text or a pair of texts; subclasses add labels, losses and metrics."""

import dataclasses
from collections.abc import Callable

import keras
import numpy as np

from kbert.features import ENCODER_INPUTS, LABEL_FEATURE, encoder_features
from kbert.heads.classification_head import ClassificationHead
from kbert.heads.parts import pooled_head
from kbert.input_pipelines import labelled_files, text_reader
from kbert.tasks.label_losses import BALANCED, balanced_weights
from kbert.tasks.sequences.settings import LabelSettings
from kbert.tasks.task import ExampleFeatures, Signature, Task
from kbert.tasks.task_model import TaskModel
from kbert.tasks.temperature import SOFTMAX, calibration_metrics, probabilities_of


class SequenceTask(Task):
    """One text, or a pair of texts -> a row of numbers from the pooled output.

    Args:
      takes_pairs: whether examples are pairs; None when this is not known, then both are accepted.

    Attributes:
      head: the name of the head's layer.
      read_label: the function that reads a label, see kbert/input_pipelines/labelled_files.py.
    """

    head: str
    read_label: Callable = staticmethod(labelled_files.class_label)

    def __init__(self, takes_pairs: bool | None = None):
        self.takes_pairs = takes_pairs

    @property
    def num_outputs(self) -> int:
        """The number of logits for each text."""
        raise NotImplementedError

    @property
    def inputs(self):
        return ("text", "text_pair") if self.takes_pairs else ("text",)

    @property
    def parts(self):
        return pooled_head(self.head, self.num_outputs, has_labels=bool(getattr(self, "labels", ())))

    @classmethod
    def read_examples(cls, path, dataset, with_labels=True):
        """`LabelledText`s of a TSV, CSV or JSONL file; see `labelled_files.stream_rows`."""
        return labelled_files.stream_rows(path, dataset, with_labels, cls.read_label)

    def examples_to_features(self, examples, text_inputs):
        """Encoder inputs, int32 of shape (rows, max_seq_length), and the labels; one row for each example."""
        features = text_reader.tokenize_rows(examples, text_inputs) | self.label_features(examples)
        return ExampleFeatures(features, np.arange(len(examples)))

    def label_features(self, examples) -> dict[str, np.ndarray]:
        """The labels: name -> array of shape (rows, ...)."""
        raise NotImplementedError

    def features(self, max_seq_length):
        return encoder_features(max_seq_length)

    def pooled_logits(self, encoder):
        """(symbolic inputs, float32 logits of shape (batch, num_outputs)) of the model."""
        config = encoder.config
        inputs = {name: keras.Input((None,), dtype="int32", name=name) for name in encoder.input}
        head = ClassificationHead(
            num_labels=self.num_outputs,
            dropout=config.hidden_dropout_prob,
            initializer_range=config.initializer_range,
            dtype=encoder.policy,
            name=self.head,
        )
        return inputs, head(encoder(inputs)["pooled_output"])

    def build_model(self, encoder):
        inputs, logits = self.pooled_logits(encoder)
        return TaskModel(self, encoder, inputs, self.outputs_of(logits))

    def outputs_of(self, logits) -> dict:
        """The outputs of the model, computed from the logits: name -> tensor."""
        raise NotImplementedError

    def served(self, outputs: dict) -> dict:
        """The outputs of a signature, computed from those of the model."""
        return outputs

    def signatures(self, model, text_inputs):
        """`serving_default` takes `text` (string [batch]), and also `text_pair` if examples are pairs. `ids`
        takes `input_ids`, `input_mask` and `segment_ids` (int32 [batch, length])."""

        def answer_ids(input_ids, input_mask, segment_ids):
            inputs = {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}
            return self.served(model(inputs, training=False))

        def answer_text(text, text_pair=None):
            return answer_ids(**text_inputs(text, text_pair, pad_to_longest=True))

        return {
            "serving_default": Signature({name: ("string", (None,)) for name in self.inputs}, answer_text),
            "ids": Signature({name: ("int32", (None, None)) for name in ENCODER_INPUTS}, answer_ids),
        }


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
    collected = ("logits", LABEL_FEATURE)

    head = "classification"
    architecture = "BertForSequenceClassification"
    has_labels = True
    labels: tuple[str, ...]
    names_of: Callable = staticmethod(lambda label: (label,))
    settings: LabelSettings

    def __init__(self, labels, takes_pairs=None, **settings):
        super().__init__(takes_pairs)
        self.labels = tuple(labels)
        self.settings = self.settings_class(**settings)
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

    def outputs_of(self, logits):
        """float32 `logits` and `probabilities`, both (batch, labels)."""
        return {"logits": logits, "probabilities": self.probabilities(logits, self.settings.temperature)}

    def probabilities(self, logits, temperature: float):
        """Those of a tensor or array of logits, (..., labels), at a temperature."""
        return probabilities_of(logits, temperature, self.kind)

    def score(self, examples, predictions):
        """`calibration_metrics`, and what `threshold_scores` adds."""
        logits, labels = (predictions.values[name] for name in self.collected[:2])
        found = calibration_metrics(logits, labels, self.settings.temperature, self.kind)
        if not found:  # the logits are not finite
            return {}
        probabilities = np.asarray(self.probabilities(logits, found["chosen_temperature"]))
        return found | self.threshold_scores(probabilities, labels)

    def threshold_scores(self, probabilities, labels) -> dict:
        """Metrics with the thresholds that are best for these arrays of probabilities and `label_ids`."""
        return {}

    @classmethod
    def complete_dataset(cls, dataset, examples):
        """The dataset; if it lists no labels, with the sorted labels of the examples."""
        if dataset.labels:
            return dataset
        names = (name for example in examples for name in cls.names_of(example.label))
        return dataclasses.replace(dataset, labels=labelled_files.labels_of(names))
