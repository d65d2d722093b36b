"""Times and answers of serving, embedding, litert and tokenization."""

import sys

import numpy as np
import pytest

from benchmarks import REPOSITORY, embedding, litert, serving, tokenization
from benchmarks.workers.contestants import Contestant, Record, alternate

_WORKER = """
import sys
sys.path.insert(0, {peers!r})
from turns import Turns
turns = Turns()
turns.ready()
turns.answer_batches(lambda texts: __import__("numpy").array([[len(text), 1] for text in texts], float))
"""


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


def test_answers_are_compared_with_hugging_face_in_float32():
    found = {"kbert/bfloat16": [[0.6, 0.4], [0.4, 0.6]], "hugging_face/float32": [[0.9, 0.1], [0.6, 0.4]]}
    records = {name: Record({}, steps(9.0, 1.0), {"answers": values}, 5.0) for name, values in found.items()}
    rows = serving.figures(records, 2)
    assert rows["kbert/bfloat16"]["agreement"] == 0.5
    assert rows["kbert/bfloat16"]["max_difference"] == pytest.approx(0.3)
    assert rows["hugging_face/float32"]["max_difference"] == 0.0
    assert embedding.figures(records, 2)["kbert/bfloat16"]["texts_per_second"] == 2.0


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
