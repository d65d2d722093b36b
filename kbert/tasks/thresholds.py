"""The probability from which a label is given: as settings say, or chosen on development data."""

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from absl import logging

from kbert.checks import require
from kbert.files.json_values import shown
from kbert.late_tensorflow import ops_for

NEUTRAL = 0.5  # where nobody chose a threshold
ThresholdMetric = Literal["f1", "accuracy"]
# Probabilities that differ by less count as equal: two computations of a float32 softmax may swap them. Its
# small results are off by a share of themselves.
_TIED, _TIED_SHARE = 1e-6, 1e-5


class ChosenThreshold(NamedTuple):
    """A threshold, from 0 to 1, and the score that it reaches on the data that it was chosen on."""

    threshold: float
    score: float


def check_threshold(name: str, value):
    """Raises ValueError for a threshold that is no probability."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    require(number and 0.0 <= value <= 1.0, f"{name}={shown(value)} must be a number from 0 to 1.")


def best_threshold(probabilities, held, metric: str = "f1") -> ChosenThreshold:
    """The threshold with the best score for one label.

    It lies in the middle between two neighbouring probabilities, or between 0 and the lowest. Of equally good
    ones it is the one nearest to 0.5, which itself is among those that are tried. A label that no example has
    keeps 0.5: these data do not say from where on it should be given.

    Args:
      probabilities: float array of shape (examples,): the label's.
      held: bool or int array of shape (examples,): whether each example has the label.
      metric: "f1" of the label, 2 TP / (2 TP + FP + FN); or "accuracy", the share of right decisions.
    """
    held = np.asarray(held, bool)
    order = np.argsort(probabilities, kind="stable")
    ordered = np.asarray(probabilities, np.float64)[order]
    scores = _scores(held[order], metric)  # when all from each position on are given
    neutral = ChosenThreshold(NEUTRAL, float(scores[np.searchsorted(ordered, NEUTRAL)]))
    if not held.any():
        return neutral
    edges = np.concatenate([[0.0], ordered, [1.0]])
    apart = np.diff(edges) > np.minimum(_TIED, _TIED_SHARE * edges[1:]) + np.finfo(np.float32).tiny
    apart[0] = True  # to all: a probability of 0 reaches a threshold of 0
    candidates = np.flatnonzero(apart)
    if scores[candidates].max() <= neutral.score:
        return neutral
    middles = (edges[:-1] + edges[1:])[candidates] / 2.0
    best = np.flatnonzero(scores[candidates] == scores[candidates].max())
    nearest = best[np.argmin(np.abs(middles[best] - NEUTRAL))]
    return ChosenThreshold(float(middles[nearest]), float(scores[candidates][nearest]))


def _scores(held, metric):
    """float64 (examples + 1,): position k is the score of giving the label to all examples from k on."""
    total, number = held.sum(), len(held)
    before = np.concatenate([[0], np.cumsum(held)])  # held among those that are not given
    right, predicted = total - before, number - np.arange(number + 1)
    if metric == "accuracy":
        return (right + np.arange(number + 1) - before) / max(number, 1)
    return 2.0 * right / np.maximum(predicted + total, 1)


class PositiveThreshold:
    """Of two labels the positive one is given where its probability is at least a threshold.

    Args:
      positive: the id of the positive label, 0 or 1.
      value: the threshold; None gives the more probable label.
      metric: the score by which evaluations choose a threshold, see `best_threshold`.

    Attributes:
      are_neutral: whether it gives the labels that no threshold gives, but for equal probabilities.
    """

    name = "threshold"  # among the settings

    def __init__(self, positive: int, value: float | None, metric: str):
        self._positive, self.value, self._metric = positive, value, metric
        self.are_neutral = value in (None, NEUTRAL)

    def predict_ids(self, probabilities):
        """The ids of the given labels, int (batch,), of a tensor of probabilities, (batch, 2)."""
        is_positive = probabilities[:, self._positive] >= self.value
        return ops_for(probabilities).where(is_positive, self._positive, 1 - self._positive)

    def metrics(self, probabilities, label_ids) -> dict[str, float]:
        """`chosen_threshold`, the best for these arrays, and `best_f1` or `best_accuracy` with it."""
        best = best_threshold(probabilities[:, self._positive], label_ids == self._positive, self._metric)
        return {"chosen_threshold": best.threshold, f"best_{self._metric}": best.score}

    def chosen(self, metrics: Mapping) -> dict:
        """The setting that these metrics choose."""
        return {self.name: metrics["chosen_threshold"]}


class LabelThresholds:
    """Each label is given where its probability reaches a threshold of its own.

    Args:
      labels: the names of the labels in id order.
      thresholds: label -> threshold; 0.5 for one that is left out.

    Attributes:
      are_neutral: whether all are 0.5.
    """

    name = "thresholds"

    def __init__(self, labels: Sequence[str], thresholds: Mapping[str, float] | None):
        self._labels, table = labels, thresholds or {}
        self._values = np.array([table.get(label, NEUTRAL) for label in labels], np.float32)
        self.are_neutral = bool((self._values == NEUTRAL).all())

    def predict(self, probabilities):
        """Which labels are given, bool (batch, labels), of a tensor or array of probabilities."""
        return probabilities >= self._values

    def metrics(self, probabilities, held) -> dict:
        """`chosen_thresholds`, with the best F1 of each label, and `best_macro_f1`, the macro F1 with them. A
        label that is never true keeps its threshold of 0.5. Both arrays are (examples, labels)."""
        best = [best_threshold(*column) for column in zip(probabilities.T, held.T, strict=True)]
        return {
            "best_macro_f1": float(np.mean([chosen.score for chosen in best])),
            "chosen_thresholds": [chosen.threshold for chosen in best],
        }

    def chosen(self, metrics: Mapping) -> dict:
        """The setting that these metrics choose; warns of labels that the data say nothing of."""
        counts = zip(self._labels, metrics["label_counts"], strict=True)
        absent = [label for label, (_, _, true) in counts if not true]
        if absent:
            logging.warning(
                "no example has the label %s: the threshold stays 0.5 there.", ", ".join(map(str, absent))
            )
        return {self.name: dict(zip(self._labels, metrics["chosen_thresholds"], strict=True))}
