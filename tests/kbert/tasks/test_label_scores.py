"""Precision, recall and F1 by label, against scikit-learn, and the rows of the terminal's table."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from kbert import SequenceClassification, TokenClassification

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


@pytest.mark.parametrize("task", [SequenceClassification, TokenClassification])
def test_labels_are_names_in_any_iterable(task):
    assert task(name for name in LABELS).labels == LABELS
    for wrong in ("ab", [0, 1], ["no", None], ["", "no"]):
        with pytest.raises(ValueError, match="expected the names of the labels in a list"):
            task(wrong)
