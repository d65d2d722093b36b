"""Pearson's chi-square test, so that a test can say how unlikely its counts are.

Tests require `p > SIGNIFICANCE` with fixed seeds, so a correct sampler that passes once always passes. Sample
sizes are large enough that the wrong samplers named in the tests fail clearly.
"""

import math

import numpy as np

SIGNIFICANCE = 1e-6


def upper_tail(statistic: float, degrees: int) -> float:
    """The probability that a chi-square variable is at least `statistic`: Q(degrees/2, statistic/2).

    The regularised upper incomplete gamma function: for small x as 1 minus the series of the lower one, else
    by its continued fraction (Abramowitz and Stegun 6.5.29 and 6.5.31).
    """
    a, x = degrees / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        for n in range(1, 10_000):
            term *= x / (a + n)
            total += term
        return 1.0 - scale * total
    fraction = 0.0
    for n in range(2_000, 0, -1):
        fraction = n * (n - a) / (x + 2 * n + 1 - a - fraction)
    return scale / (x + 1 - a - fraction)


def goodness_of_fit(counts, probabilities) -> float:
    """p-value of independent draws that fell `counts` times into categories with these `probabilities`."""
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    assert math.isclose(probabilities.sum(), 1.0, rel_tol=1e-9), "the categories must cover everything"
    expected = counts.sum() * probabilities
    assert expected.min() >= 5, "categories too rare for the test; merge them"
    return upper_tail(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)
