"""Search in blocks finds what a search in all texts at once finds."""

import numpy as np
import pytest

from kbert.experiments.retrieval.search import Best


@pytest.mark.parametrize("block", [1, 3, 7, 50])
def test_blocks_find_what_one_search_finds(block):
    rng = np.random.default_rng(block)
    scores = rng.normal(size=(4, 50)).astype(np.float32)
    best = Best(4, 9)
    for first in range(0, 50, block):
        best.add(scores[:, first : first + block], np.arange(first, min(50, first + block)))
    order = np.argsort(-scores, axis=1)[:, :9]
    np.testing.assert_array_equal(best.positions, order)
    np.testing.assert_array_equal(best.scores, np.take_along_axis(scores, order, 1))


def test_texts_that_a_query_is_not_to_find_have_no_position():
    best = Best(2, 3)
    best.add(np.array([[1.0, -np.inf], [-np.inf, -np.inf]]), np.array([5, 6]))
    assert best.positions.tolist() == [[5, -1], [-1, -1]]
