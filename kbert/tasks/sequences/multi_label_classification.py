"""One text, or a pair of texts -> any number of labels, possibly none."""

import numpy as np

from kbert.features import LABEL_FEATURE, Feature
from kbert.late_tensorflow import ops, tf
from kbert.tasks.file_columns import task_files
from kbert.tasks.label_losses import SeveralLabelsLoss
from kbert.tasks.label_scores import label_rows, precision_recall_f1
from kbert.tasks.losses import example_mean, example_weights
from kbert.tasks.pages.labels import scores_by_label, several_labels_sections
from kbert.tasks.pages.page import Page
from kbert.tasks.sequences.sequence_task import SequenceServing, SequenceTask
from kbert.tasks.sequences.settings import SeveralLabelsSettings
from kbert.tasks.task import CheckpointKind, SoftTarget
from kbert.tasks.temperature import SIGMOID
from kbert.tasks.thresholds import LabelThresholds


class _Page(Page):
    shown = ("probabilities", LABEL_FEATURE)

    def metric_sections(self, metrics):
        """Precision, recall and F1 of each label."""
        return [scores_by_label(self.task.labels, *np.asarray(metrics["label_counts"]).T)]

    def example_sections(self, examples, predictions, most_examples):
        """See `several_labels_sections`."""
        texts = self.task.by_text(predictions)
        predicted = self.task.thresholds.predict(texts.values["probabilities"])
        return several_labels_sections(self.task.labels, predicted, examples, texts, most_examples)


class _Serving(SequenceServing):
    answers = ("labels", "probabilities")

    def served(self, outputs):
        """`probabilities` and `logits` (float32 [batch, labels]), and `labels` (string [batch, labels]): the
        name of each label that is given, "" in the place of those that are not."""
        predicted = self.task.thresholds.predict(outputs["probabilities"])
        where = np.where if isinstance(predicted, np.ndarray) else tf.where
        names = where(predicted, self.label_names(predicted), b"")
        return {"probabilities": outputs["probabilities"], "logits": outputs["logits"], "labels": names}

    def same_answers(self, outputs, expected, batch):
        """For each row whether the set of labels is the same."""
        both = [
            np.asarray(self.task.thresholds.predict(values["probabilities"]))
            for values in (outputs, expected)
        ]
        return (both[0] == both[1]).all(axis=-1)

    def answer(self, outputs, inputs):
        """The labels that are given, and the probability of every label."""
        names = zip(self.task.labels, outputs["labels"], strict=True)
        predicted = [label for label, name in names if name]
        return {"labels": predicted, "probabilities": self.label_probabilities(outputs)}


class MultiLabelClassification(SequenceTask):
    """Decides on each label separately: each label has one logit, a sigmoid and a threshold.

    The loss is the mean binary cross-entropy over examples and labels. Evaluation gives `accuracy` (the share
    of examples with exactly the right labels), `micro_f1` (over all decisions) and `macro_f1` (the mean over
    all labels; one that is neither true nor predicted counts 0, as in scikit-learn).

    Args:
      labels: the label names in id order, at least one.
      takes_pairs: see `SequenceTask`.
      settings: those of `SeveralLabelsSettings`, by name.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, MultiLabelClassification
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = MultiLabelClassification(["short", "funny", "sad"]).build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'logits': (2, 3), 'probabilities': (2, 3)}
    """

    name = "multi_label_classification"
    settings_class = SeveralLabelsSettings
    kind = SIGMOID
    best_metric = "micro_f1"
    checkpoint = CheckpointKind(
        "BertForSequenceClassification", "multi_label_classification", has_labels=True
    )
    files = task_files(name)
    serving_class = _Serving
    page_class = _Page

    def __init__(self, labels, takes_pairs=None, **settings):
        super().__init__(labels, takes_pairs, **settings)
        if not self.labels:
            raise ValueError("multi-label classification needs at least one label, received none.")
        self.loss = SeveralLabelsLoss(self.labels, self.settings)
        self.thresholds = LabelThresholds(self.labels, self.settings.thresholds)

    # ------------------------------------------------------------------------------- examples

    def features(self, max_seq_length):
        return super().features(max_seq_length) | {LABEL_FEATURE: Feature("int32", (len(self.labels),))}

    def label_features(self, examples):
        """`label_ids`, int32 of shape (rows, labels): 1 for each label that the example has, else 0."""
        ids = {label: index for index, label in enumerate(self.labels)}
        held = np.zeros((len(examples), len(self.labels)), np.int32)
        for row, example in zip(held, examples, strict=True):
            row[[ids[name] for name in example.label]] = 1
        return {LABEL_FEATURE: held}

    def describe(self, row, vocabulary):
        (example,) = super().describe(row, vocabulary)
        names = [name for name, holds in zip(self.labels, row[LABEL_FEATURE], strict=True) if holds]
        return [f"{example} -> labels {', '.join(names) or '(none)'}"]

    def soft_targets(self, outputs, batch):
        return {"loss": (SoftTarget(outputs["logits"], example_weights(batch)[:, None], "sigmoid"),)}

    # ------------------------------------------------------------------------------- metrics

    def metric_sums(self, outputs, batch):
        """`accuracy`, and the counts for F1: for each label, how often it is right, predicted and true."""
        weights = example_weights(batch)[:, None]
        predicted = ops.cast(self.thresholds.predict(outputs["probabilities"]), "float32")
        held = ops.cast(batch[LABEL_FEATURE], "float32")
        exact = ops.cast(ops.all(ops.equal(predicted, held), axis=-1), "float32")
        counts = ops.stack([ops.sum(c * weights, axis=0) for c in (predicted * held, predicted, held)])
        return {"accuracy": example_mean(exact, batch), "counts": (counts, ops.zeros(()))}

    def summarize(self, means):
        counts = means.pop("counts")
        right, predicted, held = counts
        total = (predicted + held).sum()
        return means | {
            "micro_f1": float(2 * right.sum() / total) if total else 0.0,
            "macro_f1": float(np.mean([scores.f1 for scores in map(precision_recall_f1, *counts)])),
            "label_counts": np.rint([right, predicted, held]).T.astype(int).tolist(),
        }

    def report(self, metrics):
        """Scores of each label."""
        return label_rows("label", self.labels, metrics["label_counts"])

    def baseline(self, batches, vocabulary):
        """`baseline_accuracy`: the accuracy of always predicting the most frequent set of labels."""
        sets = np.concatenate([self.long_texts.once(batch, LABEL_FEATURE) for batch in batches])
        _, counts = np.unique(sets, axis=0, return_counts=True)
        return {"baseline_accuracy": float(counts.max() / counts.sum())}
