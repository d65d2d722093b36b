"""Vectors of length 1: NumPy and Keras agree, and NumPy's need no Keras."""

import numpy as np

from kbert.layers.unit_length import unit, unit_rows
from kbert.tasks.similarity.vectors import similarities
from tests.export.without_tensorflow import asked_alone

ROWS = np.array([[3, 4], [0, 0], [1e-3, 0], [-2, 7]], np.float32)
ALONE = """
import numpy as np
from kbert.layers.unit_length import unit_rows
from kbert.tasks.similarity.vectors import similarities
rows = np.array(json.loads(path), np.float32)
print(json.dumps(similarities(rows, rows, "cosine", unit_rows).tolist()))
"""


def test_both_agree():
    np.testing.assert_allclose(unit_rows(ROWS), unit(ROWS), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(unit_rows(ROWS), axis=1), [1, 0, 1, 1], atol=1e-6)


def test_cosines_of_arrays_without_keras():
    alone = asked_alone(ROWS.tolist(), ALONE)
    np.testing.assert_allclose(alone, similarities(ROWS, ROWS, "cosine"), atol=1e-6)
