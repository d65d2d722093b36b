"""Precision, recall and F1 by label, against scikit-learn, and the rows of the terminal's table."""

import numpy as np
import pytest
import tensorflow as tf
from sklearn.metrics import precision_recall_fscore_support

from kbert import SequenceClassification, TokenClassification
from kbert.features import LABEL_FEATURE
from kbert.training.evaluation_step import means

LABELS = ("a", "b", "never")


@pytest.mark.parametrize("num_labels", [3, 12])
def test_the_table_of_a_classifier_has_scores_by_label_and_few_columns(num_labels):
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    confusion = np.zeros((num_labels, num_labels), int)
    np.add.at(confusion, (true, predicted), 1)
    names = [*LABELS, *map(str, range(3, num_labels))]
    heads, *rows = SequenceClassification(names).report({"confusion": confusion.tolist()})
    scores = precision_recall_fscore_support(true, predicted, labels=range(num_labels), zero_division=0)
    expected = [
        [*(f"{score:.3f}" for score in column[:3]), str(column[3])] for column in zip(*scores, strict=True)
    ]
    assert heads[-4:] == ["precision", "recall", "f1", "true"]
    assert [row[-4:] for row in rows] == expected
    counts = [row[1:-4] for row in rows]
    assert counts == (confusion.astype(str).tolist() if num_labels == 3 else [[]] * num_labels)


def test_thousands_of_labels_are_counted_one_by_one():
    """A table of labels by labels would be summed in each step, and written into each checkpoint."""
    number = 3000
    task = SequenceClassification([f"{n:04}" for n in range(number)])
    batch = {"input_ids": tf.zeros((4, 1), tf.int32), LABEL_FEATURE: tf.constant([7, 7, 8, 9])}
    sums = task.metric_sums({"logits": tf.one_hot([7, 8, 8, 0], number)}, batch)
    assert sum(tf.size(part).numpy() for part in tf.nest.flatten(sums)) < 4 * number
    metrics = task.summarize(means(sums))
    counts = {index: row for index, row in enumerate(metrics["label_counts"]) if any(row)}
    assert counts == {0: [0, 1, 0], 7: [1, 1, 2], 8: [1, 2, 1], 9: [0, 0, 1]}
    assert task.report(metrics)[8] == ["0007", "1.000", "0.500", "0.667", "2"]
    (section,) = task.page.metric_sections(metrics)
    assert section.title == "Label by label" and section.content.rows[0][:3] == ("0007", "100.0%", "50.0%")


@pytest.mark.parametrize("task", [SequenceClassification, TokenClassification])
def test_labels_are_names_in_any_iterable(task):
    assert task(name for name in LABELS).labels == LABELS
    for wrong in ("ab", [0, 1], ["no", None], ["", "no"]):
        with pytest.raises(ValueError, match="expected the names of the labels in a list"):
            task(wrong)
