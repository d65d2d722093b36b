"""One text, or a pair of texts -> any number of labels, possibly none."""

import numpy as np
from keras import ops

from kbert.features import LABEL_FEATURE, Feature
from kbert.input_pipelines import labelled_files
from kbert.tasks.pages.labels import several_labels_sections
from kbert.tasks.sequences.sequence_task import LabelTask
from kbert.tasks.task import example_weights

THRESHOLD = 0.5  # a label is predicted when its probability is at least this


class MultiLabelClassification(LabelTask):
    """Decides on each label separately: each label has one logit and a sigmoid.

    The loss is the mean binary cross-entropy over examples and labels. Evaluation gives `accuracy` (the share
    of examples with exactly the right labels), `micro_f1` (over all decisions) and `macro_f1` (the mean over
    the labels that occur or are predicted).

    Args:
      labels: the label names in id order, at least one.
      takes_pairs: see `SequenceTask`.

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
    best_metric = "micro_f1"
    answers = ("labels", "probabilities")
    shown = ("probabilities", LABEL_FEATURE)
    problem_type = "multi_label_classification"
    read_label = staticmethod(labelled_files.label_set)
    names_of = staticmethod(tuple)

    def __init__(self, labels, takes_pairs=None):
        super().__init__(takes_pairs)
        if not labels:
            raise ValueError("multi-label classification needs at least one label, received none.")
        self.labels = tuple(labels)

    def get_config(self):
        return {"labels": list(self.labels), "takes_pairs": self.takes_pairs}

    @classmethod
    def of_dataset(cls, dataset, settings=None):
        return cls(dataset.labels, bool(dataset.text_pair))

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

    def outputs_of(self, logits):
        """float32 `logits` and `probabilities`, both (batch, labels)."""
        return {"logits": logits, "probabilities": ops.sigmoid(logits)}

    def loss_weights(self, batch):
        return {"loss": ops.sum(example_weights(batch)) * len(self.labels)}

    def loss_sums(self, outputs, batch):
        logits, held = outputs["logits"], ops.cast(batch[LABEL_FEATURE], "float32")
        # log(1 + exp(x)) - x y, in a form whose exponential cannot overflow.
        losses = ops.relu(logits) - logits * held + ops.log1p(ops.exp(-ops.abs(logits)))
        return {"loss": ops.sum(losses * example_weights(batch)[:, None])}

    def metric_sums(self, outputs, batch):
        """`accuracy`, and the counts for F1: for each label, how often it is right, predicted and true."""
        weights = example_weights(batch)
        said = ops.cast(outputs["probabilities"] >= THRESHOLD, "float32")
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

    def baseline(self, batches, vocabulary):
        """`baseline_accuracy`: the accuracy of always predicting the most frequent set of labels."""
        sets = np.concatenate([batch[LABEL_FEATURE] for batch in batches])
        _, counts = np.unique(sets, axis=0, return_counts=True)
        return {"baseline_accuracy": float(counts.max() / counts.sum())}

    def examples_page(self, examples, predictions, most_examples):
        """See `several_labels_sections`."""
        return several_labels_sections(self.labels, THRESHOLD, examples, predictions, most_examples)

    def answer(self, outputs, inputs):
        """The predicted labels, and the probability of every label."""
        by_label = {label: float(p) for label, p in zip(self.labels, outputs["probabilities"], strict=True)}
        return {
            "labels": [label for label, p in by_label.items() if p >= THRESHOLD],
            "probabilities": by_label,
        }
