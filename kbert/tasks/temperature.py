"""One temperature for all logits, so that probabilities are as often right as they say.

The probabilities of a model are those of its logits divided by the temperature; the logits themselves stay
as they are. Dividing by a positive number changes no order: the most probable label stays the same.

Reference: arXiv 1706.04599 (Guo et al., 2017), section 4.2.
"""

import functools
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from kbert.bounds import Bounds
from kbert.checks import CheckedSettings
from kbert.late_tensorflow import ops
from kbert.tasks.pages.calibration import expected_calibration_error, reliability

_COLDEST, _HOTTEST = 0.01, 100.0  # a best temperature beyond these says that the data decide nothing
_TOLERANCE = 1e-12  # of 1 / temperature
_LOGITS_AT_ONCE = 1 << 20  # the arithmetic is in float64, for so many logits at a time
SOFTMAX, SIGMOID = "softmax", "sigmoid"  # one of several labels; each label for itself


@dataclass(frozen=True)
class CalibrationSettings(CheckedSettings):
    """`task_settings` of tasks with probabilities: `temperature` divides the logits that they come from."""

    temperature: Annotated[float, Bounds(_COLDEST, _HOTTEST)] = 1.0


@dataclass(frozen=True)
class Temperature:
    """What the logits of a task are divided by before they become probabilities.

    Args:
      value: the temperature.
      kind: "softmax", one label of several, or "sigmoid", each label for itself.
    """

    value: float = 1.0
    kind: str = SOFTMAX

    def probabilities(self, logits):
        """Probabilities of the same shape as the tensor `logits`, (..., labels)."""
        scaled = logits if self.value == 1.0 else logits / self.value
        return ops.softmax(scaled, axis=-1) if self.kind == SOFTMAX else ops.sigmoid(scaled)

    def metrics(self, logits, labels) -> dict[str, float]:
        """What an evaluation says of its probabilities.

        Args:
          logits, labels: as for `best_temperature`.

        Returns:
          `temperature`, and the `calibration_error` with it; `chosen_temperature`, the best for these data,
          and the `chosen_calibration_error` with that. Nothing where logits are not finite.
        """
        if not np.isfinite(logits).all():
            return {}
        chosen = Temperature(best_temperature(logits, labels, self.kind, self.value), self.kind)
        before, after = (
            calibration_error(np.asarray(temperature.probabilities(logits)), labels, self.kind)
            for temperature in (self, chosen)
        )
        return {
            "temperature": self.value,
            "calibration_error": before,
            "chosen_temperature": chosen.value,
            "chosen_calibration_error": after,
        }


def best_temperature(logits, labels, kind: str = SOFTMAX, otherwise: float = 1.0) -> float:
    """The temperature with the least negative log-likelihood of the labels.

    It is convex in 1 / temperature, so there is one best value, where the slope is 0. It is `otherwise`
    where there is no such value, because the likelihood improves without end: where all answers are right, or
    where they are no better than chance.

    Args:
      logits: float array of shape (examples, labels).
      labels: int array of shape (examples,); for "sigmoid" 0 or 1 for each label, (examples, labels).
      kind: "softmax" or "sigmoid".
    """
    from scipy import optimize

    slope = functools.partial(_slope, _softmax_slope if kind == SOFTMAX else _sigmoid_slope, logits, labels)
    low, high = 1.0 / _HOTTEST, 1.0 / _COLDEST
    if not (slope(low) < 0 < slope(high)):
        return otherwise
    return 1.0 / optimize.brentq(slope, low, high, xtol=_TOLERANCE, rtol=_TOLERANCE)


def _slope(row_slopes, logits, labels, inverse) -> float:
    """The derivative of the negative log-likelihood by 1 / temperature, a chunk at a time."""
    rows = max(1, _LOGITS_AT_ONCE // logits.shape[-1])
    total = 0.0
    for start in range(0, len(logits), rows):
        chunk = np.asarray(logits[start : start + rows], np.float64)
        total += row_slopes(chunk, labels[start : start + rows], inverse)
    return total


def _softmax_slope(logits, labels, inverse):
    likely = np.exp(inverse * (logits - logits.max(axis=-1, keepdims=True)))
    likely /= likely.sum(axis=-1, keepdims=True)
    mean = (likely * logits).sum(axis=-1)
    right = np.take_along_axis(logits, labels[:, None], axis=-1)[:, 0]
    return (mean - right).sum()


def _sigmoid_slope(logits, labels, inverse):
    likely = 0.5 * (1.0 + np.tanh(0.5 * inverse * logits))  # the sigmoid, without overflow
    return ((likely - labels) * logits).sum()


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
