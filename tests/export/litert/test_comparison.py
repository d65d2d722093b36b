"""Agreement and differences by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from export.litert.comparison import compare, keras_answers, predict_rows
from export.litert.comparison_data import ComparisonData
from kbert.tasks import TASKS

TASK = TASKS["sequence_classification"](("quiet", "loud"))
LOGITS = np.array([[2.0, 0.0], [0.0, 1.0], [0.5, 0.25], [-4.0, 3.0]], np.float32)


def rows(numbers):
    """Rows whose first id says which row of LOGITS they are."""
    ids = np.array(numbers, np.int32)[:, None]
    return ComparisonData("rows", {"input_ids": ids, "input_mask": ids * 0 + 1, "segment_ids": 0 * ids})


def answered(logits, data):
    def answer(inputs):
        found = logits[inputs["input_ids"][:, 0]]
        return {"logits": found, "probabilities": found / 10}

    return predict_rows(TASK, answer, data)


def test_agreement_and_differences_by_hand():
    data, other = rows([0, 1, 2, 3]), LOGITS.copy()
    other[0, 0] += 0.25  # the same label
    other[2, 1] += 0.5  # another one
    found = compare(TASK, answered(other, data), answered(LOGITS, data), data)
    assert (found["num_answers"], found["agreement"], found["max_difference"]) == (4, 0.75, 0.5)
    by_row = [0.25, 0.0, 0.5, 0.0]
    assert found["differences"]["logits"] == pytest.approx(
        {"median": 0.125, "p90": np.quantile(by_row, 0.9), "p99": np.quantile(by_row, 0.99), "max": 0.5}
    )
    assert found["relative_difference"] == pytest.approx(0.5 / 4)  # of the largest logit, which is -4
    same = compare(TASK, answered(LOGITS, data), answered(LOGITS, data), data)
    assert same["agreement"] == 1.0 and same["max_difference"] == 0.0


def test_of_vectors_the_lowest_cosines_are_told():
    task, data = TASKS["encoder"]("mean"), rows([0, 1, 2, 3])
    vectors = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, -2.0], [1.0, 1.0]], np.float32)
    turned = np.array([[5.0, 0.0], [4.0, 3.0], [0.0, -2.0], [1.0, -1.0]], np.float32)  # cosines 1, .96, 1, 0

    def said(values):
        return predict_rows(task, lambda ids: {"embedding": values[ids["input_ids"][:, 0]]}, data)

    found = compare(task, said(turned), said(vectors), data)
    assert found["agreement"] == 0.5  # .96 is not the same vector
    assert found["cosine"] == pytest.approx(
        {"min": 0.0, "p1": 0.03 * 0.96, "p10": 0.3 * 0.96, "median": 0.98}, abs=1e-6
    )
    assert "cosine" not in compare(TASK, answered(LOGITS, data), answered(LOGITS, data), data)


@pytest.mark.parametrize(
    ("shape", "sizes"),
    [((40, 16), [32, 8]), ((3, 4096), [2, 1]), ((2, 8192), [1, 1]), ((2, 3, 4096), [1, 1])],
)
def test_keras_is_asked_for_as_many_rows_as_fit_into_memory(shape, sizes):
    asked = []

    def ask(ids, mask, segments):
        asked.append(len(ids))
        return {"logits": tf.cast(ids[:, -1:], tf.float32)}

    signature = SimpleNamespace(as_graph=lambda: ask)
    task = SimpleNamespace(serving=SimpleNamespace(signatures=lambda *_: {"ids": signature}))
    ids = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    answer = keras_answers(task, None, None, "model")
    answers = answer({"input_ids": ids, "input_mask": ids, "segment_ids": ids})
    assert asked == sizes
    np.testing.assert_array_equal(answers["logits"], ids[:, -1:])
