"""The rows and the figures of benchmarks/litert.py."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import litert
from benchmarks.workers.contestants import Record

_REPOSITORY = Path(__file__).resolve().parents[2]
_ROWS = {
    "input_ids": np.array([[2, 7, 8, 3, 0], [2, 9, 3, 0, 0]]),
    "input_mask": np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]]),
    "segment_ids": np.zeros((2, 5), int),
}


def test_rows_without_padding_and_full_rows():
    assert [row["input_ids"] for row in litert.real_rows(_ROWS)] == [[2, 7, 8, 3], [2, 9, 3]]
    full = litert.full_rows(_ROWS, 6, 3)
    assert [row["input_ids"] for row in full] == [[2, 7, 8, 9, 7, 3], [2, 8, 9, 7, 8, 3], [2, 9, 7, 8, 9, 3]]
    assert all(row["input_mask"] == [1] * 6 and row["segment_ids"] == [0] * 6 for row in full)


def test_the_first_round_does_not_count_and_answers_are_those_of_the_file():
    steps = [
        {"seconds": s, "cpu_seconds": s / 2, "size": size}
        for s in (9.0, 0.001, 0.003)
        for size in (16, 16, litert.EVAL, litert.EVAL)
    ]
    answers = [[0.0, 1.0], [0.0, 1.0], [0.9, 0.1], [0.4, 0.6]]  # two full rows, then those of the file
    classifier = SimpleNamespace(labels=np.array([0, 0]), probabilities=np.array([[0.8, 0.2], [0.3, 0.7]]))
    record = Record({"bytes": 2_000_000}, steps, {"answers": answers})
    found = litert.figures(record, classifier, rounds=2)
    assert found["milliseconds"] == {16: 2.0, litert.EVAL: 2.0}
    assert found["cpu_milliseconds"] == {16: 1.0, litert.EVAL: 1.0}
    assert (found["accuracy"], found["agreement"], found["megabytes"]) == (0.5, 1.0, 2.0)
    assert found["max_difference"] == pytest.approx(0.1)
    assert "| one | 2.00 | 2.00 | 0.5000 | 100.00 % | 0.1 | 2.0 |" in litert.table({"one": found}, [16])


def test_wrong_flags_end_with_one_sentence():
    needed = ["--init_checkpoint=x", "--config=configs/finetuning/sst2.toml", "--eval_file=x"]
    for wrong, sentence in (
        ("--contestants=kbert/int4", "error: --contestants names 'kbert/int4'; choose among kbert/float32"),
        ("--lengths=16,x", "error: --max_seq_length=16,x: 'x' is no length"),
    ):
        command = [sys.executable, "-m", "benchmarks.litert", *needed, wrong]
        ended = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True)
        assert ended.returncode == 1 and ended.stderr.startswith(sentence)
