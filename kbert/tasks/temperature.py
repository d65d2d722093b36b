"""One temperature for all logits, so that probabilities are as often right as they say.

The probabilities of a model are those of its logits divided by the temperature; the logits themselves stay
as they are. Dividing by a positive number changes no order: the most probable label stays the same.

Reference: arXiv 1706.04599 (Guo et al., 2017), section 4.2.
"""

from dataclasses import dataclass

import numpy as np
from keras import ops

from kbert.config.checks import require
from kbert.files.json_values import shown
from kbert.tasks.pages.calibration import expected_calibration_error, reliability

_COLDEST, _HOTTEST = 0.01, 100.0  # a best temperature beyond these says that the data decide nothing
_MOST_ITERATIONS = 100
SOFTMAX, SIGMOID = "softmax", "sigmoid"  # one of several labels; each label for itself


@dataclass(frozen=True)
class CalibrationSettings:
    """`task_settings` of tasks with probabilities: `temperature` divides the logits that they come from."""

    temperature: float = 1.0

    def __post_init__(self):
        require(
            _COLDEST <= self.temperature <= _HOTTEST,
            f"temperature={shown(self.temperature)} must be a number from {_COLDEST} to {_HOTTEST:g}.",
        )


def probabilities_of(logits, temperature: float = 1.0, kind: str = SOFTMAX):
    """Probabilities of the same shape as the tensor `logits`, (..., labels)."""
    scaled = logits if temperature == 1.0 else logits / temperature
    return ops.softmax(scaled, axis=-1) if kind == SOFTMAX else ops.sigmoid(scaled)


def best_temperature(logits, labels, kind: str = SOFTMAX) -> float:
    """The temperature with the least negative log-likelihood of the labels.

    It is convex in 1 / temperature, so there is one best value; Newton's method finds it. The temperature
    stays 1 where there is no such value, because the likelihood improves without end: where all answers are
    right, or where they are no better than chance.

    Args:
      logits: float array of shape (examples, labels).
      labels: int array of shape (examples,); for "sigmoid" 0 or 1 for each label, (examples, labels).
      kind: "softmax" or "sigmoid".
    """
    logits, slope = np.asarray(logits, np.float64), _slope_softmax if kind == SOFTMAX else _slope_sigmoid
    low, high = 1.0 / _HOTTEST, 1.0 / _COLDEST
    if not (slope(low, logits, labels)[0] < 0 < slope(high, logits, labels)[0]):
        return 1.0
    inverse = 1.0
    for _ in range(_MOST_ITERATIONS):
        first, second = slope(inverse, logits, labels)
        low, high = (low, inverse) if first > 0 else (inverse, high)
        nearer = inverse - first / second if second > 0 else high
        if not low < nearer < high:
            nearer = float(np.sqrt(low * high))
        step, inverse = abs(nearer - inverse), nearer
        if step <= 1e-9 * inverse:
            break
    return 1.0 / inverse


def _slope_softmax(inverse, logits, labels):
    """First and second derivative of the mean negative log-likelihood by 1 / temperature."""
    scaled = inverse * (logits - logits.max(axis=-1, keepdims=True))
    likely = np.exp(scaled)
    likely /= likely.sum(axis=-1, keepdims=True)
    mean = (likely * logits).sum(axis=-1)
    right = np.take_along_axis(logits, np.asarray(labels)[:, None], axis=-1)[:, 0]
    spread = (likely * np.square(logits - mean[:, None])).sum(axis=-1)
    return float((mean - right).mean()), float(spread.mean())


def _slope_sigmoid(inverse, logits, labels):
    likely = 0.5 * (1.0 + np.tanh(0.5 * inverse * logits))  # the sigmoid, without overflow
    first = (likely - labels) * logits
    return float(first.mean()), float((likely * (1.0 - likely) * np.square(logits)).mean())


def calibration_error(probabilities, labels, kind: str = SOFTMAX) -> float:
    """The expected calibration error, from 0 to 1, of the most probable answers; see `reliability`.

    For "sigmoid" each label of each example is an answer: that it holds, or that it does not.
    """
    probabilities, labels = np.asarray(probabilities), np.asarray(labels)
    if kind == SOFTMAX:
        bins = reliability(probabilities.max(axis=-1), probabilities.argmax(axis=-1) == labels)
    else:
        sure = np.maximum(probabilities, 1.0 - probabilities)
        bins = reliability(sure.ravel(), ((probabilities >= 0.5) == (labels > 0)).ravel())
    return expected_calibration_error(bins)


def calibration_metrics(logits, labels, temperature: float, kind: str = SOFTMAX) -> dict[str, float]:
    """What an evaluation says of its probabilities.

    Args:
      logits, labels, kind: as for `best_temperature`.
      temperature: the one in force.

    Returns:
      `temperature`, and the `calibration_error` with it; `chosen_temperature`, the best for these data, and
      the `chosen_calibration_error` with that. Nothing where logits are not finite.
    """
    if not np.isfinite(logits).all():
        return {}
    chosen = best_temperature(logits, labels, kind)
    before, after = (
        calibration_error(np.asarray(probabilities_of(logits, one, kind)), labels, kind)
        for one in (temperature, chosen)
    )
    return {
        "temperature": temperature,
        "calibration_error": before,
        "chosen_temperature": chosen,
        "chosen_calibration_error": after,
    }
