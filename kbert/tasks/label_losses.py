"""Weights of labels and label smoothing: what training adds to the losses of tasks on labels.

Evaluations have neither: their losses compare between runs, whatever these were trained with.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from absl import logging

from kbert.bounds import LARGEST_FLOAT32
from kbert.checks import CheckedSettings, Rate, require
from kbert.files.json_values import require_once, shown
from kbert.late_tensorflow import ops
from kbert.tasks.losses import binary_cross_entropies, cross_entropies

BALANCED = "balanced"
OF_TRAINING = ("class_weights", "label_smoothing")
_MOST_SHOWN = 10  # of the weights that "balanced" chose


@dataclass(frozen=True)
class LabelLossSettings(CheckedSettings):
    """`task_settings` of tasks on labels. Both are for the loss of training alone.

    `class_weights` says how much an example, or a labelled token, of each label counts: a table label ->
    weight that names every label, or "balanced", which reckons the weights from the labels of the training
    data (`OneLabelLoss.balanced_weights`). Of several labels for a text it is the weight of having the label,
    against 1 for not having it (`SeveralLabelsLoss`). `label_smoothing` takes this share from the right
    answer and spreads it evenly over all.
    """

    class_weights: str | dict | None = None
    label_smoothing: Rate = 0.0

    def __post_init__(self):
        super().__post_init__()
        weights = self.class_weights
        require(
            not isinstance(weights, str) or weights == BALANCED,
            f'class_weights={shown(weights)} is not known; give "{BALANCED}" or a table label -> weight, '
            'which in --override is JSON: {"a": 1.0, "b": 5.0}.',
        )
        for label, weight in weights.items() if isinstance(weights, dict) else ():
            mend = "" if not isinstance(weight, dict) else '; in TOML write a label with a point as "1.0"'
            number = isinstance(weight, int | float) and not isinstance(weight, bool)
            require(
                number and 0 < weight <= LARGEST_FLOAT32,
                f"class_weights.{label}={shown(weight)} must be a positive, finite number{mend}.",
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

    def weights_in_order(self, labels: Sequence[str]) -> list[float]:
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


class OneLabelLoss:
    """Cross-entropy over labels of which one is right, in training with class weights and label smoothing.

    Args:
      labels: the names of the labels in id order.
      settings: a `LabelLossSettings`.
    """

    def __init__(self, labels: Sequence[str], settings: LabelLossSettings):
        self._labels, self._settings = labels, settings

    def balanced_weights(self, counts: Mapping[str, int], num_examples: int) -> dict[str, float]:
        """n / (k * count) for each label: all n examples together count as before, each label as much as any.

        k is the number of labels that occur. (scikit-learn, `compute_class_weight("balanced")`; King and
        Zeng, Logistic Regression in Rare Events Data, 2001.) A label without examples gets 1.

        Args:
          counts: label -> how often the training data have it.
          num_examples: how many these are.
        """
        total, occurring = sum(counts.values()), sum(1 for label in self._labels if counts.get(label))
        _warn_of_absent(counts, self._labels)
        return _logged(
            {
                label: total / (occurring * counts[label]) if counts.get(label) else 1.0
                for label in self._labels
            }
        )

    def weights(self, weights, label_ids, training: bool):
        """The weights of examples or tokens, float32 (...): in training times those of their labels."""
        if not training or self._settings.class_weights is None:
            return weights
        table = ops.convert_to_tensor(self._settings.weights_in_order(self._labels), dtype="float32")
        one_hot = ops.one_hot(ops.cast(label_ids, "int32"), len(self._labels), dtype="float32")
        return weights * ops.sum(one_hot * table, axis=-1)

    def losses(self, logits, label_ids, training: bool):
        """float32 of shape (...); logits (..., K), int label ids (...).

        Smoothing by e is cross-entropy with `e / K` for each of K labels and the rest for the right one:
        (1 - e) * -log p_right + e * mean(-log p), which is -log p_right + e * (logit_right - mean of logits).
        (arXiv 1512.00567, section 7.)
        """
        losses, smoothing = cross_entropies(logits, label_ids), self._settings.label_smoothing
        if not (training and smoothing):
            return losses
        logits = ops.cast(logits, "float32")
        right = ops.one_hot(ops.cast(label_ids, "int32"), ops.shape(logits)[-1], dtype="float32")
        return losses + smoothing * (ops.sum(right * logits, axis=-1) - ops.mean(logits, axis=-1))


class SeveralLabelsLoss:
    """Binary cross-entropy of each label, in training with weights of having it and label smoothing.

    Args:
      labels, settings: as of `OneLabelLoss`.
    """

    def __init__(self, labels: Sequence[str], settings: LabelLossSettings):
        self._labels, self._settings = labels, settings

    def balanced_weights(self, counts: Mapping[str, int], num_examples: int) -> dict[str, float]:
        """(n - count) / count for each label: those who have it weigh as much as those who have not.

        The quotient of scikit-learn's two "balanced" weights of the question "has it the label?", and what
        the `pos_weight` of PyTorch's `BCEWithLogitsLoss` is for. A label that no example has, or every one,
        gets 1. Arguments as of `OneLabelLoss`.
        """
        _warn_of_absent(counts, self._labels)
        weights = {}
        for label in self._labels:
            count = counts.get(label, 0)
            weights[label] = (num_examples - count) / count if 0 < count < num_examples else 1.0
        return _logged(weights)

    def weights(self, weights, held, training: bool):
        """float32 (batch, labels): the weights of examples, (batch,), in training times that of each label
        where an example has it: `held` is 1 there, else 0."""
        having = self._settings.weights_in_order(self._labels) if training else [1.0]
        having = ops.convert_to_tensor(having, dtype="float32")
        return (1.0 + ops.cast(held, "float32") * (having - 1.0)) * weights[:, None]

    def losses(self, logits, held, training: bool):
        """float32 (batch, labels), see `binary_cross_entropies`. Smoothing by e has the targets `1 - e / 2`
        and `e / 2`, as Keras's `BinaryCrossentropy`."""
        targets = ops.cast(held, "float32")
        if training:
            smoothing = self._settings.label_smoothing
            targets = targets * (1.0 - smoothing) + 0.5 * smoothing
        return binary_cross_entropies(logits, targets)


def _logged(weights):
    """The weights, of which at most the ten largest are logged."""
    largest = sorted(weights.items(), key=lambda item: -item[1])
    rest = f" and {len(largest) - _MOST_SHOWN} smaller ones" if len(largest) > _MOST_SHOWN else ""
    shown_weights = ", ".join(f"{label} {weight:.3g}" for label, weight in largest[:_MOST_SHOWN])
    logging.info('class_weights="%s": %s%s', BALANCED, shown_weights, rest)
    return weights


def _warn_of_absent(counts, labels):
    absent = [label for label in labels if not counts.get(label)]
    if absent:
        logging.warning("class_weights: no training example has the label %s", shown(absent))
