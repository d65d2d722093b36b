"""The probability from which a label is given: as settings say, or chosen on development data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from kbert.config.checks import require
from kbert.files.json_values import shown

NEUTRAL = 0.5  # where nobody chose a threshold
THRESHOLD_METRICS = ("f1", "accuracy")
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
    scores = _scores(held[order], metric)  # when all from each place on are given
    neutral = ChosenThreshold(NEUTRAL, float(scores[np.searchsorted(ordered, NEUTRAL)]))
    if not held.any():
        return neutral
    edges = np.concatenate([[0.0], ordered, [1.0]])
    apart = np.diff(edges) > np.minimum(_TIED, _TIED_SHARE * edges[1:]) + np.finfo(np.float32).tiny
    apart[0] = True  # to all: a probability of 0 reaches a threshold of 0
    places = np.flatnonzero(apart)
    if scores[places].max() <= neutral.score:
        return neutral
    middles = (edges[:-1] + edges[1:])[places] / 2.0
    best = np.flatnonzero(scores[places] == scores[places].max())
    nearest = best[np.argmin(np.abs(middles[best] - NEUTRAL))]
    return ChosenThreshold(float(middles[nearest]), float(scores[places][nearest]))


def _scores(held, metric):
    """float64 (examples + 1,): place k is the score of giving the label to all examples from k on."""
    total, number = held.sum(), len(held)
    before = np.concatenate([[0], np.cumsum(held)])  # held among those that are not given
    right, given = total - before, number - np.arange(number + 1)
    if metric == "accuracy":
        return (right + np.arange(number + 1) - before) / max(number, 1)
    return 2.0 * right / np.maximum(given + total, 1)


def best_thresholds(probabilities, held) -> list[ChosenThreshold]:
    """`best_threshold` of every label, for its F1; both arguments are arrays of shape (examples, labels)."""
    columns = zip(np.asarray(probabilities).T, np.asarray(held).T, strict=True)
    return [best_threshold(*column) for column in columns]


def thresholds_of(labels: Sequence[str], thresholds: Mapping[str, float] | None) -> np.ndarray:
    """float32 array of shape (labels,): each label's threshold, 0.5 for one that the table leaves out."""
    table = thresholds or {}
    return np.array([table.get(label, NEUTRAL) for label in labels], np.float32)


def threshold_table(labels: Sequence[str], metrics: Mapping) -> str:
    """For people: how often each label is true, and the threshold that these data would choose.

    Args:
      labels: the names of the labels.
      metrics: with `label_counts` and `chosen_thresholds`, a list each.
    """
    left = max(len("label"), *map(len, map(str, labels)))
    lines = [f"{'label'.ljust(left)}   true  best threshold"]
    for label, count, best in zip(labels, metrics["label_counts"], metrics["chosen_thresholds"], strict=True):
        note = "" if count else "  (never true here, so it stays)"
        lines.append(f"{str(label).ljust(left)}  {count:5,}  {best:14.4f}{note}")
    return "\n".join(lines)
