"""Precision, recall and F1 of labels, from counts, and the table of them for a terminal."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Scores(NamedTuple):
    """Precision, recall and F1, each from 0 to 1, and 0 where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


def precision_recall_f1(right: float, predicted: float, true: float) -> Scores:
    """Precision, recall and F1 of counts."""
    return Scores(
        right / predicted if predicted else 0.0,
        right / true if true else 0.0,
        2 * right / (predicted + true) if predicted + true else 0.0,
    )


def macro_f1(right, predicted, true) -> float:
    """The mean F1 of the labels that occur or are predicted; 0 when none does. That is scikit-learn's for one
    label of several; of several labels for a text it counts all, absent ones as 0.

    Args:
      right, predicted, true: arrays of shape (labels,): how often each was right, predicted and true.
    """
    present = (predicted + true) > 0
    by_label = 2 * right[present] / (predicted + true)[present]
    return float(by_label.mean()) if present.any() else 0.0


def label_rows(heading: str, names: Iterable, counts: Iterable[Sequence[int]]) -> list[list[str]]:
    """The rows of a table, the heads first: precision, recall, F1 and the true number of each label.

    Args:
      heading: the head of the first column.
      names: the labels.
      counts: for each label how often it was right, predicted and true.
    """
    rows = [[heading, "precision", "recall", "f1", "true"]]
    for name, (right, predicted, true) in zip(names, counts, strict=True):
        scores = precision_recall_f1(right, predicted, true)
        rows.append([str(name), *map("{:.3f}".format, scores), f"{true:,}"])
    return rows
