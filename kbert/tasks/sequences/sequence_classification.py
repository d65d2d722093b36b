"""One text, or a pair of texts -> a label."""

import numpy as np

from kbert.features import LABEL_FEATURE, Feature
from kbert.late_tensorflow import ops, ops_for, tf
from kbert.tasks.file_columns import task_files
from kbert.tasks.label_losses import OneLabelLoss
from kbert.tasks.label_scores import label_rows, macro_f1, precision_recall_f1
from kbert.tasks.losses import correct, example_mean, example_weights
from kbert.tasks.pages.labels import confusion_section, one_label_sections, scores_by_label
from kbert.tasks.pages.page import Page
from kbert.tasks.sequences.sequence_task import SequenceServing, SequenceTask
from kbert.tasks.sequences.settings import OneLabelSettings
from kbert.tasks.task import CheckpointKind, SoftTarget
from kbert.tasks.temperature import SOFTMAX
from kbert.tasks.thresholds import PositiveThreshold

_MOST_COLUMNS = 8  # labels of a confusion table in a terminal
_MOST_CONFUSED = 200  # labels of a confusion matrix, which each step sums and each checkpoint holds


class _Page(Page):
    shown = ("probabilities", LABEL_FEATURE)

    def metric_sections(self, metrics):
        """The confusion matrix, where there is one, and precision, recall and F1 of each label."""
        labels, sections = self.task.labels, []
        if "confusion" in metrics:
            sections = [confusion_section(labels, metrics["confusion"], "examples")]
        return [*sections, scores_by_label(labels, *_label_counts(metrics))]

    def example_sections(self, examples, predictions, most_examples):
        """See `one_label_sections`."""
        texts = self.task.by_text(predictions)
        predicted = np.asarray(self.task.predict_ids(texts.values))
        return one_label_sections(self.task.labels, examples, texts, most_examples, predicted)


class _Serving(SequenceServing):
    answers = ("label", "probabilities")

    def served(self, outputs):
        """`probabilities` and `logits` (float32 [batch, labels]) and `label` (string [batch])."""
        names, ids = self.label_names(outputs["logits"]), self.task.predict_ids(outputs)
        label = names[ids] if isinstance(ids, np.ndarray) else tf.gather(names, ids)
        return {"probabilities": outputs["probabilities"], "logits": outputs["logits"], "label": label}

    def same_answers(self, outputs, expected, batch):
        """For each row whether the label is the same."""
        return np.asarray(self.task.predict_ids(outputs)) == np.asarray(self.task.predict_ids(expected))

    def answer(self, outputs, inputs):
        """The label, see `SequenceClassification.predict_ids`, and the probability of every label."""
        probabilities = self.label_probabilities(outputs)
        return {"label": outputs["label"].decode("utf-8"), "probabilities": probabilities}


class SequenceClassification(SequenceTask):
    """A label for each text or pair, from the pooled output.

    Args:
      labels: the label names in id order, at least two.
      positive_label: the label that F1 is computed for when there are two labels (default: the last one).
        With more labels, F1 is the mean of the F1 of each label that occurs or is predicted, as in
        scikit-learn's `f1_score(average="macro")`.
      takes_pairs: see `SequenceTask`.
      settings: those of `OneLabelSettings`, by name.

    Examples:
      >>> import keras
      >>> from kbert import BertEncoder, EncoderConfig, SequenceClassification
      >>> config = EncoderConfig(
      ...     vocab_size=50, hidden_size=8, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
      >>> model = SequenceClassification(["negative", "positive"]).build_model(BertEncoder(config))
      >>> ids = keras.ops.ones((2, 7), "int32")
      >>> outputs = model({"input_ids": ids, "input_mask": ids, "segment_ids": 0 * ids})
      >>> {name: tuple(value.shape) for name, value in outputs.items()}
      {'logits': (2, 2), 'probabilities': (2, 2)}
    """

    name = "sequence_classification"
    settings_class = OneLabelSettings
    kind = SOFTMAX
    best_metric = "accuracy"
    checkpoint = CheckpointKind("BertForSequenceClassification", has_labels=True)
    files = task_files(name)
    serving_class = _Serving
    page_class = _Page

    def __init__(self, labels, positive_label=None, takes_pairs=None, **settings):
        super().__init__(labels, takes_pairs, **settings)
        if len(self.labels) < 2:
            raise ValueError(f"classification needs at least two labels, received {list(self.labels)}.")
        if positive_label is not None and positive_label not in self.labels:
            raise ValueError(
                f"positive_label={positive_label!r} is not among the labels {list(self.labels)}."
            )
        self.positive_label = positive_label or self.labels[-1]
        self._positive_id = self.labels.index(self.positive_label)
        self.loss = OneLabelLoss(self.labels, self.settings)
        if len(self.labels) == 2:
            values = self.settings.threshold, self.settings.threshold_metric
            self.thresholds = PositiveThreshold(self._positive_id, *values)

    def get_config(self):
        return super().get_config() | {"positive_label": self.positive_label}

    @classmethod
    def dataset_arguments(cls, dataset):
        return super().dataset_arguments(dataset) | {"positive_label": dataset.positive_label}

    # ------------------------------------------------------------------------------- examples

    def features(self, max_seq_length):
        return super().features(max_seq_length) | {LABEL_FEATURE: Feature("int32", ())}

    def label_features(self, examples):
        """`label_ids`, int32 of shape (rows,)."""
        ids = {label: index for index, label in enumerate(self.labels)}
        return {LABEL_FEATURE: np.asarray([ids[example.label] for example in examples], np.int32)}

    def describe(self, row, vocabulary):
        (example,) = super().describe(row, vocabulary)
        return [f"{example} -> label {self.labels[row[LABEL_FEATURE]]}"]

    def soft_targets(self, outputs, batch):
        return {"loss": (SoftTarget(outputs["logits"], example_weights(batch)),)}

    # ------------------------------------------------------------------------------- metrics

    def predict_ids(self, outputs):
        """The id of the label that is given, int tensor of shape (batch,): the most probable one, or of two
        labels the positive one from its threshold on."""
        if self.settings.threshold is None:
            return ops_for(outputs["logits"]).argmax(outputs["logits"], axis=-1)
        return self.thresholds.predict_ids(outputs["probabilities"])

    def metric_sums(self, outputs, batch):
        """`accuracy`, and the confusion matrix; of very many labels how often each is right, predicted and
        true."""
        weights = example_weights(batch)
        true = ops.one_hot(batch[LABEL_FEATURE], len(self.labels), dtype="float32")
        predicted = ops.one_hot(self.predict_ids(outputs), len(self.labels), dtype="float32")
        counted = true * weights[:, None]
        if len(self.labels) <= _MOST_CONFUSED:
            table = {"confusion": (ops.matmul(ops.transpose(counted), predicted), ops.zeros(()))}
        else:
            rows = (counted * predicted, predicted * weights[:, None], counted)
            table = {"counts": (ops.stack([ops.sum(counts, axis=0) for counts in rows]), ops.zeros(()))}
        if self.settings.threshold is None:
            is_right = correct(outputs["logits"], batch[LABEL_FEATURE])
        else:
            is_right = ops.sum(true * predicted, axis=-1)
        return {"accuracy": example_mean(is_right, batch)} | table

    def summarize(self, means):
        """Adds `f1` and `matthews`, and turns the counts into lists of them: `confusion`, with a row for each
        true label and a column for each predicted one, or `label_counts`, with a row for each label."""
        if "confusion" in means:
            name, table = "confusion", np.asarray(means.pop("confusion"), np.float64)
        else:
            name, table = "label_counts", np.asarray(means.pop("counts"), np.float64).T
        counts = _label_counts({name: table})
        if len(self.labels) == 2:
            f1 = precision_recall_f1(*(float(values[self._positive_id]) for values in counts)).f1
        else:
            f1 = macro_f1(*counts)
        counted = {name: np.rint(table).astype(int).tolist()}
        return means | {"f1": f1, "matthews": matthews_correlation(*counts)} | counted

    def baseline(self, batches, vocabulary):
        """`baseline_accuracy`: the accuracy of always answering the most frequent label."""
        ids = np.concatenate([self.long_texts.once(batch, LABEL_FEATURE) for batch in batches])
        return {"baseline_accuracy": float(np.bincount(ids).max() / len(ids))}

    def report(self, metrics):
        """Scores of each label; of few labels also how often each was predicted where it was true."""
        rows = label_rows("label", self.labels, zip(*_label_counts(metrics), strict=True))
        if len(self.labels) > _MOST_COLUMNS:
            return rows
        columns = [self.labels, *metrics["confusion"]]
        rows[0][0] = "true \\ predicted"
        return [[row[0], *map(str, c), *row[1:]] for c, row in zip(columns, rows, strict=True)]


def _label_counts(metrics):
    """How often each label was right, predicted and true: three arrays of shape (labels,)."""
    if "confusion" not in metrics:
        return np.asarray(metrics["label_counts"]).T
    confusion = np.asarray(metrics["confusion"])
    return np.stack([confusion.diagonal(), confusion.sum(axis=0), confusion.sum(axis=1)])


def matthews_correlation(right, predicted, true) -> float:
    """Matthews' correlation: from -1 to 1.

    With n examples, c right ones, and t_k true and p_k predicted ones of label k, it is
    (c n - sum t_k p_k) / sqrt((n^2 - sum p_k^2) (n^2 - sum t_k^2)): R_K of Gorodkin, 2004 (Computational
    Biology and Chemistry 28), which for two labels is the phi coefficient that CoLA is judged by. Where only
    one label is predicted, or only one is true, it is 0.

    Args:
      right, predicted, true: for each label how often it was right, predicted and true.
    """
    right, predicted, true = (np.asarray(counts, np.float64) for counts in (right, predicted, true))
    total = true.sum()
    spread = (total**2 - (predicted**2).sum()) * (total**2 - (true**2).sum())
    covariance = right.sum() * total - (true * predicted).sum()
    return float(covariance / np.sqrt(spread)) if spread > 0 else 0.0
