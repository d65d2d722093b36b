"""A tie between the largest logits is as good as drawing one of them, not right whatever the label is."""

import numpy as np

from kbert.tasks.losses import correct


def test_one_of_n_largest_logits_counts_one_nth():
    logits = np.array([[1, 3, 2], [3, 1, 3], [3, 1, 3], [0, 0, 0], [np.nan, 0, 1]], np.float32)
    labels = np.array([1, 2, 1, 0, 2])
    np.testing.assert_allclose(correct(logits, labels), [1.0, 0.5, 0.0, 1 / 3, 0.0], rtol=1e-6)
    np.testing.assert_array_equal(correct(logits, labels, share_ties=False), [1, 1, 0, 1, 0])
