"""Times and answers of serving, embedding, litert and tokenization."""

import numpy as np
import pytest

from benchmarks import answers, litert, serving
from benchmarks.workers.contestants import Record


def steps(*seconds, size=1):
    return [{"seconds": value, "cpu_seconds": value, "size": size} for value in seconds]


def test_answers_are_compared_with_hugging_face_in_float32():
    found = {"kbert/bfloat16": [[0.6, 0.4], [0.4, 0.6]], "hugging_face/float32": [[0.9, 0.1], [0.6, 0.4]]}
    records = {name: Record({}, steps(9.0, 1.0), {"answers": values}, 5.0) for name, values in found.items()}
    rows = serving.figures(records, 2)
    assert rows["kbert/bfloat16"]["agreement"] == 0.5
    assert rows["kbert/bfloat16"]["max_difference"] == pytest.approx(0.3)
    assert rows["hugging_face/float32"]["max_difference"] == 0.0
    assert answers.answer_figures(records, 2, "nobody")["kbert/bfloat16"]["texts_per_second"] == 1.0


def test_accuracy_and_agreement_are_those_of_the_rows_of_the_file():
    found = [[0.0, 1.0], [0.9, 0.1], [0.4, 0.6]]  # one full row, then those of the file
    record = Record({"bytes": 2_000_000}, steps(9.0, 1.0), {"answers": found})
    row = litert.figures(record, 2, np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0, 0]))
    assert (row["accuracy"], row["agreement"], row["megabytes"]) == (0.5, 1.0, 2.0)
