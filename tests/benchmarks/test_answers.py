"""Times and answers of serving, embedding, litert and tokenization."""

import sys

import numpy as np
import pytest

from benchmarks import REPOSITORY, answers, embedding, litert, serving, tokenization
from benchmarks.workers.contestants import Contestant, Record, alternate

_WORKER = """
import sys
sys.path.insert(0, {peers!r})
from turns import Turns
turns = Turns()
turns.ready()
turns.answer_batches(lambda texts: __import__("numpy").array([[len(text), 1] for text in texts], float))
"""
_ROWS = {
    "input_ids": np.array([[2, 7, 8, 3, 0], [2, 9, 3, 0, 0]]),
    "input_mask": np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]),
    "segment_ids": np.zeros((2, 5), int),
}


def steps(*seconds, size=1):
    return [{"seconds": value, "cpu_seconds": value, "size": size} for value in seconds]


def test_a_worker_answers_each_batch_of_each_size_in_every_round():
    command = [sys.executable, "-c", _WORKER.format(peers=str(REPOSITORY / "benchmarks" / "peers"))]
    sizes = {1: [["a"], ["bb"]], 2: [["ccc", "dddd"], ["e", "f"]]}
    worker = Contestant("one", command, {"batches": sizes, "rounds": 3}, threads=1)
    try:
        alternate([worker], None, 2)
    finally:
        worker.close()
    assert [step["size"] for step in worker.record.steps] == [1, 1, 2, 2] * 3
    assert worker.record.result == {"answers": [[n, 1] for n in (1, 2, 3, 4, 1, 1)]}


def test_the_first_round_does_not_count():
    taken = [step for s in (9.0, 0.001, 0.003) for size in (1, 8) for step in steps(s, s, size=size)]
    assert answers.median_milliseconds(taken, 3) == {1: pytest.approx(2.0), 8: pytest.approx(2.0)}


def test_answers_are_compared_with_hugging_face_in_float32():
    found = {"kbert/bfloat16": [[0.6, 0.4], [0.4, 0.6]], "hugging_face/float32": [[0.9, 0.1], [0.6, 0.4]]}
    records = {name: Record({}, steps(9.0, 1.0), {"answers": values}, 5.0) for name, values in found.items()}
    rows = serving.figures(records, 2)
    assert rows["kbert/bfloat16"]["agreement"] == 0.5
    assert rows["kbert/bfloat16"]["max_difference"] == pytest.approx(0.3)
    assert rows["hugging_face/float32"]["max_difference"] == 0.0
    assert embedding.figures(records, 2)["kbert/bfloat16"]["texts_per_second"] == 2.0


def test_texts_have_mixed_lengths_and_no_batch_shares_one():
    lengths = np.array([len(text) for text in answers.mixed_texts(1000)])
    assert lengths.min() >= 20 and lengths.max() <= 400 and lengths.std() > 40
    first, second = serving.batches(32, 2)
    assert len(first) == 32 and len(set(first) | set(second)) == 64


def test_rows_without_padding_and_full_rows():
    assert [row["input_ids"] for row in litert.real_rows(_ROWS)] == [[2, 7, 8, 3], [2, 9, 3]]
    full = litert.full_rows(_ROWS, 6, 3)
    assert [row["input_ids"] for row in full] == [[2, 7, 8, 9, 7, 3], [2, 8, 9, 7, 8, 3], [2, 9, 7, 8, 9, 3]]
    assert all(row["input_mask"] == [1] * 6 and row["segment_ids"] == [0] * 6 for row in full)


def test_accuracy_and_agreement_are_those_of_the_rows_of_the_file():
    found = [[0.0, 1.0], [0.9, 0.1], [0.4, 0.6]]  # one full row, then those of the file
    record = Record({"bytes": 2_000_000}, steps(9.0, 1.0), {"answers": found})
    row = litert.figures(record, 2, np.array([[0.8, 0.2], [0.3, 0.7]]), np.array([0, 0]))
    assert (row["accuracy"], row["agreement"], row["megabytes"]) == (0.5, 1.0, 2.0)


def test_only_tokenizers_with_the_same_ids_are_compared():
    ids = {"kbert/x": [[1], [2]], "tf_text/x": [[1], [3]], "hugging_face/x": [[1], [2]]}
    records = {
        name: Record({}, steps(9.0, 0.5), {"lines": [[1]], "adversarial": found})
        for name, found in ids.items()
    }
    rows = tokenization.figures(records, 1.0)
    assert [row["other_adversarial"] for row in rows.values()] == [0, 1, 0]
    assert rows["kbert/x"]["megabytes_per_second"] == 2.0
    assert tokenization.compared(rows) == ["kbert/x", "hugging_face/x"]
    rows["hugging_face/x"]["other_adversarial"] = 1
    assert tokenization.compared(rows) == ["kbert/x", "hugging_face/x"]
