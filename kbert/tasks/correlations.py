"""Pearson's and Spearman's correlation of what a model says with what is true."""

import numpy as np
from absl import logging

_WORST = -1.0  # of a correlation
_ROUNDING = 8 * np.finfo(np.float32).eps  # of predictions, relative


def correlations(predicted, true) -> dict[str, float]:
    """`pearson` and `spearman` (with mean ranks for ties) of two arrays of shape (examples,).

    Predictions that differ by the rounding of float32 are ties. Else the batch size would rank the pairs of
    one text twice, whose cosines are 1: STS12 has 79 of 3,108, and its `spearman` moved by 2e-5.

    When all predictions are the same but for the rounding of float32, no correlation is defined. Such a model
    gets the worst score, -1, and a warning, so that any other model is better. Both are NaN when there are
    fewer than two examples, and, with a warning, when all labels are the same: that says nothing about the
    model.
    """
    from scipy import stats

    predicted, true = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    if len(true) < 2 or np.ptp(true) == 0:
        if len(true) > 1:
            logging.warning("All %d labels are the same: no correlation with them is defined.", len(true))
        return {"pearson": float("nan"), "spearman": float("nan")}
    if np.ptp(predicted) <= _ROUNDING * np.abs(predicted).max():
        logging.warning(
            "All %d predictions are %g: no correlation is defined, and the worst one, %g, is reported.",
            len(predicted), predicted[0], _WORST,
        )  # fmt: skip
        return {"pearson": _WORST, "spearman": _WORST}
    return {
        "pearson": float(stats.pearsonr(predicted, true).statistic),
        "spearman": float(stats.spearmanr(_ranks(predicted), true).statistic),
    }


def _ranks(values):
    """A number for each value, the same for those that lie at most `_ROUNDING` above the least of them: where
    values lie densely, each has a neighbour, and all would be one rank."""
    order, ranks = np.argsort(values), np.empty(len(values), np.int64)
    ascending = values[order]
    ends = np.searchsorted(ascending, ascending + _ROUNDING * np.abs(ascending), side="right").tolist()
    first = 0
    while first < len(values):
        ranks[order[first : ends[first]]] = first
        first = ends[first]
    return ranks
