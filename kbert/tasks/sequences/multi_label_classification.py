"""One text, or a pair of texts -> any number of labels, possibly none."""

import dataclasses

import numpy as np
from absl import logging
from keras import ops

from kbert.features import LABEL_FEATURE, Feature
from kbert.input_pipelines import labelled_files
from kbert.tasks.label_losses import balanced_positive_weights
from kbert.tasks.pages.labels import several_labels_sections
from kbert.tasks.sequences.label_task import LabelTask
from kbert.tasks.sequences.settings import SeveralLabelsSettings
from kbert.tasks.task import SoftTarget, example_weights
from kbert.tasks.temperature import SIGMOID
from kbert.tasks.thresholds import best_thresholds, threshold_table, thresholds_of


class MultiLabelClassification(LabelTask):
    """Decides on each label separately: each label has one logit, a sigmoid and a threshold.

    The loss is the mean binary cross-entropy over examples and labels. Evaluation gives `accuracy` (the share
    of examples with exactly the right labels), `micro_f1` (over all decisions) and `macro_f1` (the mean over
    the labels that occur or are predicted).

    Args:
      labels: the label names in id order, at least one.
      takes_pairs: see `SequenceTask`.
      settings: those of `SeveralLabelsSettings`, by name.

    Example:
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
    settings: SeveralLabelsSettings
    kind = SIGMOID
    best_metric = "micro_f1"
    answers = ("labels", "probabilities")
    shown = ("probabilities", LABEL_FEATURE)
    problem_type = "multi_label_classification"
    read_label = staticmethod(labelled_files.label_set)
    names_of = staticmethod(tuple)
    chooses = ("temperature", "thresholds")

    def __init__(self, labels, takes_pairs=None, **settings):
        super().__init__(labels, takes_pairs, **settings)
        if not labels:
            raise ValueError("multi-label classification needs at least one label, received none.")

    def balanced(self, counts, num_examples):
        """Of having each label; see `balanced_positive_weights`."""
        return balanced_positive_weights(counts, self.labels, num_examples)

    @classmethod
    def of_dataset(cls, dataset, settings=None):
        settings = settings or SeveralLabelsSettings()
        return cls(dataset.labels, bool(dataset.text_pair), **dataclasses.asdict(settings))

    def features(self, max_seq_length):
        return super().features(max_seq_length) | {LABEL_FEATURE: Feature("int32", (len(self.labels),))}

    def label_features(self, examples):
        """`label_ids`, int32 of shape (rows, labels): 1 for each label that the example has, else 0."""
        places = {label: index for index, label in enumerate(self.labels)}
        held = np.zeros((len(examples), len(self.labels)), np.int32)
        for row, example in zip(held, examples, strict=True):
            row[[places[name] for name in example.label]] = 1
        return {LABEL_FEATURE: held}

    def describe(self, row, vocabulary):
        (example,) = super().describe(row, vocabulary)
        names = [name for name, holds in zip(self.labels, row[LABEL_FEATURE], strict=True) if holds]
        return [f"{example} -> labels {', '.join(names) or '(none)'}"]

    def loss_weights(self, batch):
        return {"loss": ops.sum(example_weights(batch)) * len(self.labels)}

    def loss_sums(self, outputs, batch):
        losses = _binary_cross_entropies(outputs["logits"], ops.cast(batch[LABEL_FEATURE], "float32"))
        return {"loss": ops.sum(losses * example_weights(batch)[:, None])}

    def training_loss_weights(self, batch):
        return {"loss": ops.sum(self._decision_weights(batch))}

    def training_loss_sums(self, outputs, batch):
        """The weighted cross-entropy with targets of `1 - e / 2` and `e / 2` for a smoothing of e, as Keras's
        `BinaryCrossentropy` has them."""
        smoothing, held = self.settings.label_smoothing, ops.cast(batch[LABEL_FEATURE], "float32")
        losses = _binary_cross_entropies(outputs["logits"], held * (1.0 - smoothing) + 0.5 * smoothing)
        return {"loss": ops.sum(losses * self._decision_weights(batch))}

    def _decision_weights(self, batch):
        """float32 (batch, labels): a label's weight where an example has it, else 1."""
        held = ops.cast(batch[LABEL_FEATURE], "float32")
        having = ops.convert_to_tensor(self.settings.weights_of(self.labels), dtype="float32")
        return (1.0 + held * (having - 1.0)) * example_weights(batch)[:, None]

    def soft_targets(self, outputs, batch):
        return {"loss": (SoftTarget(outputs["logits"], example_weights(batch)[:, None], "sigmoid"),)}

    def given(self, probabilities):
        """Which labels are given, bool (batch, labels): those whose probability reaches their threshold."""
        return probabilities >= thresholds_of(self.labels, self.settings.thresholds)

    def metric_sums(self, outputs, batch):
        """`accuracy`, and the counts for F1: for each label, how often it is right, predicted and true."""
        weights = example_weights(batch)
        said = ops.cast(self.given(outputs["probabilities"]), "float32")
        held = ops.cast(batch[LABEL_FEATURE], "float32")
        exact = ops.cast(ops.all(ops.equal(said, held), axis=-1), "float32")
        counts = ops.stack([ops.sum(c * weights[:, None], axis=0) for c in (said * held, said, held)])
        return {
            "accuracy": (ops.sum(exact * weights), ops.sum(weights)),
            "counts": (counts, ops.zeros(())),
        }

    def summarize(self, means):
        right, said, held = means.pop("counts")
        present = (said + held) > 0
        by_label = 2 * right[present] / (said + held)[present]
        total = (said + held).sum()
        return means | {
            "micro_f1": float(2 * right.sum() / total) if total else 0.0,
            "macro_f1": float(by_label.mean()) if present.any() else 0.0,
        }

    def threshold_scores(self, probabilities, labels):
        """`chosen_thresholds`, with the best F1 of each label; `best_macro_f1`, the macro F1 with them; and
        `label_counts`, how often each label is true: one that never is keeps its threshold of 0.5."""
        best = best_thresholds(probabilities, labels)
        said = probabilities >= np.array([one.threshold for one in best], np.float32)
        present = (said | (labels > 0)).any(axis=0)
        scores = np.array([one.score for one in best])[present]
        return {
            "best_macro_f1": float(scores.mean()) if present.any() else 0.0,
            "chosen_thresholds": [one.threshold for one in best],
            "label_counts": labels.sum(axis=0).tolist(),
        }

    def chosen(self, metrics):
        """The temperature, and the threshold of each label; names those that the data say nothing of."""
        absent = [label for label, n in zip(self.labels, metrics["label_counts"], strict=True) if not n]
        if absent:
            logging.warning(
                "no example has the label %s: the threshold stays 0.5 there.", ", ".join(map(str, absent))
            )
        thresholds = dict(zip(self.labels, metrics["chosen_thresholds"], strict=True))
        return {"temperature": metrics["chosen_temperature"], "thresholds": thresholds}

    def report(self, metrics):
        """A table of the labels and their best thresholds."""
        return threshold_table(self.labels, metrics) if "chosen_thresholds" in metrics else ""

    def baseline(self, batches, vocabulary):
        """`baseline_accuracy`: the accuracy of always predicting the most frequent set of labels."""
        sets = np.concatenate([self.of_texts(batch, LABEL_FEATURE) for batch in batches])
        _, counts = np.unique(sets, axis=0, return_counts=True)
        return {"baseline_accuracy": float(counts.max() / counts.sum())}

    def examples_page(self, examples, predictions, most_examples):
        """See `several_labels_sections`."""
        texts = self.by_text(predictions)
        given = self.given(texts.values["probabilities"])
        return several_labels_sections(self.labels, given, examples, texts, most_examples)

    def served(self, outputs):
        """`probabilities` and `logits` (float32 [batch, labels]), and `labels` (string [batch, labels]): the
        name of each label that is given, "" in the place of those that are not."""
        import tensorflow as tf

        names = tf.where(self.given(outputs["probabilities"]), tf.constant(self.labels), "")
        return {"probabilities": outputs["probabilities"], "logits": outputs["logits"], "labels": names}

    def same_answers(self, outputs, expected, batch):
        """For each row whether the set of labels is the same, see `given`."""
        both = [np.asarray(self.given(one["probabilities"])) for one in (outputs, expected)]
        return (both[0] == both[1]).all(axis=-1)

    def answer(self, outputs, inputs):
        """The labels that are given, see `given`, and the probability of every label."""
        by_label = {label: float(p) for label, p in zip(self.labels, outputs["probabilities"], strict=True)}
        names = zip(self.labels, outputs["labels"], strict=True)
        return {"labels": [label for label, name in names if name], "probabilities": by_label}


def _binary_cross_entropies(logits, targets):
    """log(1 + exp(x)) - x y for logits x and targets y, in a form whose exponential cannot overflow."""
    return ops.relu(logits) - logits * targets + ops.log1p(ops.exp(-ops.abs(logits)))
