"""Scaling: what is said of given steps, and workers that step together."""

import pytest

from benchmarks import scaling
from benchmarks.workers.contestants import Record


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
