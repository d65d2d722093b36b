"""Pearson's chi-square test, so that a test can say how unlikely its counts are.

Tests require `p > SIGNIFICANCE` with fixed seeds, so a correct sampler that passes once always passes. Sample
sizes are large enough that the wrong samplers named in the tests fail clearly.
"""

import math

import numpy as np
from scipy.stats import chi2

SIGNIFICANCE = 1e-6


def goodness_of_fit(counts, probabilities) -> float:
    """p-value of independent draws that fell `counts` times into categories with these `probabilities`."""
    counts, probabilities = np.asarray(counts, float), np.asarray(probabilities, float)
    assert math.isclose(probabilities.sum(), 1.0, rel_tol=1e-9), "the categories must cover everything"
    expected = counts.sum() * probabilities
    assert expected.min() >= 5, "categories too rare for the test; merge them"
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))
