"""Scaling: what the table says of given steps; workers that step together."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import scaling
from benchmarks.replicas import report
from benchmarks.replicas.worker_group import WorkerGroup
from benchmarks.workers.contestants import Record, alternate

_REPOSITORY = Path(__file__).resolve().parents[2]
_FAKE = [sys.executable, str(Path(__file__).with_name("fake_worker.py"))]


def steps(*seconds, variants=1):
    return [
        {"seconds": value, "cpu_seconds": 1.0, "variant": place % variants}
        for place, value in enumerate(seconds)
    ]


def rows():
    planned = scaling.plans(32)
    alone, _, mirrored, _ = planned.items()
    facts = {"parameters": 1_000_000}
    return [
        *report.rows(*alone, Record(facts, steps(9, 9, 9, 9, 1.0, 1.2, 1.1, 5.0)), warm_up=4),
        *report.rows(*mirrored, Record(facts, steps(9, 9, 9, 9, 0.8, 0.6, 1.4, 1.2, variants=4)), warm_up=4),
    ]


def test_efficiency_is_against_as_many_single_cores_and_warm_up_does_not_count():
    alone, *others = rows()
    assert alone.median == pytest.approx(1.15) and alone.seconds[-1] == 5.0
    found = [round(report.efficiency(row, alone), 3) for row in others]
    expected = [1.15 / (2 * 0.8), 1.15 / (2 * 0.6), 1.15 / 1.4, 1.15 / 1.2]
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert [row.gradient_bytes for row in others] == [4_000_000, 2_000_000] * 2


def test_the_table_names_scaling_and_dtype():
    lines = report.table(rows()).splitlines()
    assert len({line.count("|") for line in lines}) == 1
    kinds = [[cell.strip() for cell in line.split("|")[2:6]] for line in lines[2:]]
    assert kinds == [
        ["", "32", "", ""],
        ["strong", "32", "float32", "4.0"],
        ["strong", "32", "bfloat16", "2.0"],
        ["weak", "64", "float32", "4.0"],
        ["weak", "64", "bfloat16", "2.0"],
    ]


def test_the_closing_line_has_a_row_for_each_variant():
    figures = report.figures(rows())
    assert list(figures)[:2] == ["one process, one core/32", "mirrored, two devices/32/float32"]
    assert len(figures) == 5 and figures["mirrored, two devices/64/bfloat16"]["seconds"] == 1.2


def test_a_group_is_as_slow_as_its_slowest_worker():
    group = WorkerGroup("two", _FAKE, {"last_step": 6}, 2)
    try:
        alternate([group], None, 2)
        assert [worker.name for worker in group._workers] == ["two, worker 0", "two, worker 1"]
        first, second = (worker.record for worker in group._workers)
        assert len(group.record.steps) == 6
        for step, *both in zip(group.record.steps, first.steps, second.steps, strict=True):
            assert step["seconds"] == max(one["seconds"] for one in both)
            assert step["cpu_seconds"] == sum(one["cpu_seconds"] for one in both)
            assert step["loss"] == both[0]["loss"]
    finally:
        group.close()


def test_a_group_says_which_worker_died():
    group = WorkerGroup("two", _FAKE, {"fails_at": 1}, 2)
    try:
        with pytest.raises(ValueError, match="(?s)two, worker 0 ended with exit code 1: .*own complaint"):
            group.take_turn(3)
    finally:
        group.close()


def test_wrong_flags_end_with_one_sentence():
    for arguments, said in (
        (["--batch_size=33"], "--batch_size=33 must be a multiple of 2"),
        (["--seq_length=4096"], "--seq_length=4096 must lie above --predictions=20 and be at most 512"),
    ):
        command = [sys.executable, "-m", "benchmarks.scaling", *arguments]
        ended = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True)
        assert ended.returncode == 1 and ended.stderr.startswith(f"error: {said}")
