"""Scaling: what is said of given steps, and workers that step together."""

import sys
from pathlib import Path

import pytest

from benchmarks import scaling
from benchmarks.workers.contestants import Record, alternate
from benchmarks.workers.worker_group import WorkerGroup

_FAKE = [sys.executable, str(Path(__file__).with_name("fake_worker.py"))]


def test_efficiency_is_against_as_many_single_cores():
    rows = {}
    for (name, strategy, cores), seconds in zip(
        scaling.PLANS[::2], ([1.0, 3.0, 2.0], [4.0, 5.0]), strict=True
    ):
        sizes = scaling.batch_sizes(cores, 32)
        steps = [
            {"seconds": value, "cpu_seconds": 1.0, "batch_size": size} for value in seconds for size in sizes
        ]
        rows |= scaling.figures(name, strategy, sizes, cores, Record({"parameters": 1_000_000}, steps))
    scaling.add_efficiency(rows)
    assert list(rows) == [
        "one process, one core/32", "mirrored, two devices/32", "mirrored, two devices/64",
    ]  # fmt: skip
    assert [row["seconds"] for row in rows.values()] == [2.0, 4.5, 4.5]
    assert [row["gradient_bytes"] for row in rows.values()] == [0, 4_000_000, 4_000_000]
    assert [row["efficiency"] for row in rows.values()] == pytest.approx([1, 2.0 / (2 * 4.5), 2.0 / 4.5])


def test_a_group_is_as_slow_as_its_slowest_worker():
    group = WorkerGroup("two", _FAKE, {"last_step": 6}, 2)
    try:
        alternate([group], None, 2)
        first, second = (worker.record for worker in group._workers)
        assert len(group.record.steps) == 6
        for step, *both in zip(group.record.steps, first.steps, second.steps, strict=True):
            assert step["seconds"] == max(one["seconds"] for one in both)
            assert step["cpu_seconds"] == sum(one["cpu_seconds"] for one in both)
    finally:
        group.close()
