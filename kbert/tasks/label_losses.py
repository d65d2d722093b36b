"""Weights of labels and label smoothing: what training adds to the losses of tasks on labels.

Evaluations have neither: their losses compare between runs, whatever these were trained with.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from absl import logging
from keras import ops

from kbert.config.checks import require
from kbert.files.json_values import require_once, shown
from kbert.tasks.task import cross_entropies

BALANCED = "balanced"


@dataclass(frozen=True)
class LabelLossSettings:
    """`task_settings` of tasks on labels. Both are for the loss of training alone.

    `class_weights` says how much an example, or a labelled token, of each label counts: a table label ->
    weight that names every label, or "balanced", which reckons the weights from the labels of the training
    data (`balanced_weights`). Of several labels for a text it is the weight of having the label, against 1
    for not having it (`balanced_positive_weights`). `label_smoothing` takes this share from the right answer
    and spreads it evenly over all.
    """

    class_weights: str | dict | None = None
    label_smoothing: float = 0.0

    def __post_init__(self):
        require(
            0.0 <= self.label_smoothing < 1.0,
            f"label_smoothing={self.label_smoothing} must be at least 0 and below 1.",
        )
        weights = self.class_weights
        require(
            not isinstance(weights, str) or weights == BALANCED,
            f'class_weights={shown(weights)} is not known; give "{BALANCED}" or a table label -> weight.',
        )
        for label, weight in weights.items() if isinstance(weights, dict) else ():
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            require(
                number and 0 < weight < math.inf,
                f"class_weights.{label}={shown(weight)} must be a positive number.",
            )

    def check_labels(self, labels: Sequence[str]):
        """Raises ValueError where a label stands twice, or a table of weights has other labels."""
        require_once(labels, "the list of labels")
        if not isinstance(self.class_weights, dict):
            return
        missing = [label for label in labels if label not in self.class_weights]
        strange = [label for label in self.class_weights if label not in labels]
        require(
            not missing and not strange,
            f"class_weights must give every label a weight: without one is {shown(missing)}, no label is "
            f"{shown(strange)}; the labels are {shown(list(labels))}.",
        )

    def weights_of(self, labels: Sequence[str]) -> list[float]:
        """The weights in the order of the labels; ones where there are none.

        Raises:
          ValueError: for "balanced", which `Task.for_training` turns into numbers.
        """
        require(
            self.class_weights != BALANCED,
            'class_weights="balanced" stands for numbers that only the training data know: train by '
            "kbert.experiments.finetuning, or make the task with `Task.for_training`.",
        )
        if self.class_weights is None:
            return [1.0 for _ in labels]
        return [float(self.class_weights[label]) for label in labels]  # type: ignore[index]


def balanced_weights(counts: Mapping[str, int], labels: Sequence[str]) -> dict[str, float]:
    """n / (k * count) for each label: all n examples together count as before, each label as much as any.

    k is the number of labels that occur. (scikit-learn, `compute_class_weight("balanced")`; King and Zeng,
    Logistic Regression in Rare Events Data, 2001.) A label without examples gets 1, which nothing uses.
    """
    total, occurring = sum(counts.values()), sum(1 for label in labels if counts.get(label))
    _warn_of_absent(counts, labels)
    return {label: total / (occurring * counts[label]) if counts.get(label) else 1.0 for label in labels}


def balanced_positive_weights(
    counts: Mapping[str, int], labels: Sequence[str], num_examples: int
) -> dict[str, float]:
    """(n - count) / count for each label: those who have it weigh as much as those who have not.

    The quotient of scikit-learn's two "balanced" weights of the question "has it the label?", and what the
    `pos_weight` of PyTorch's `BCEWithLogitsLoss` is for. A label that no example has, or every one, gets 1.
    """
    _warn_of_absent(counts, labels)
    weights = {}
    for label in labels:
        count = counts.get(label, 0)
        weights[label] = (num_examples - count) / count if 0 < count < num_examples else 1.0
    return weights


def _warn_of_absent(counts, labels):
    absent = [label for label in labels if not counts.get(label)]
    if absent:
        logging.warning("class_weights: no training example has the label %s", shown(absent))


def smoothed_cross_entropies(logits, labels, label_smoothing: float):
    """Cross-entropy with `label_smoothing / K` for each of K labels and the rest for the right one.

    float32 of shape (...); logits (..., K), int labels (...). With e for the smoothing it is
    (1 - e) * -log p_right + e * mean(-log p), which is -log p_right + e * (logit_right - mean of logits).
    (arXiv 1512.00567, section 7.)
    """
    losses = cross_entropies(logits, labels)
    if not label_smoothing:
        return losses
    logits = ops.cast(logits, "float32")
    right = ops.one_hot(ops.cast(labels, "int32"), ops.shape(logits)[-1], dtype="float32")
    return losses + label_smoothing * (ops.sum(right * logits, axis=-1) - ops.mean(logits, axis=-1))


def weights_by_label(weights: Sequence[float], labels):
    """float32 tensor like the int tensor `labels`: the weight of each."""
    table = ops.convert_to_tensor(weights, dtype="float32")
    return ops.sum(ops.one_hot(ops.cast(labels, "int32"), len(weights), dtype="float32") * table, axis=-1)
