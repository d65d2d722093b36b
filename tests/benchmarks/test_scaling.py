"""Scaling: what the table says of given steps, workers that step together, and the calculation on paper."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import scaling
from benchmarks.replicas import on_paper, report
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


# ------------------------------------------------------------------------------ on paper


@pytest.mark.parametrize("devices", [2, 3, 8])
def test_a_ring_sends_what_the_formula_says(devices):
    """A ring acted out: in each of 2 (N - 1) rounds every device sends one of its N chunks to the next."""
    chunks = np.random.default_rng(0).integers(0, 9, (devices, devices)).astype(float)
    held, sent = chunks.copy(), 0.0
    for turn in range(2 * (devices - 1)):
        moving = [(device, (device - turn) % devices) for device in range(devices)]
        values = [held[device, chunk] for device, chunk in moving]
        for (device, chunk), value in zip(moving, values, strict=True):
            after = (device + 1) % devices
            held[after, chunk] = value + (held[after, chunk] if turn < devices - 1 else 0)
        sent += 1 / devices
    np.testing.assert_array_equal(held, np.tile(chunks.sum(0), (devices, 1)))
    step = on_paper.StepOnPaper(1.0, gradient_bytes=600.0)
    link = on_paper.Link("a wire", 100.0)
    assert step.all_reduce_seconds(devices, link) == pytest.approx(sent * 600.0 / 100.0)


def test_parts_are_the_fewest_that_reach_the_efficiency():
    link = on_paper.Link("a wire", 1.0)
    for gradient_bytes in (0.01, 3.0, 17.3):
        step = on_paper.StepOnPaper(2.0, gradient_bytes)
        parts = step.parts_for(0.9, 64, link)
        assert step.efficiency(64, link, parts) >= 0.9 - 1e-9
        assert parts == 1 or step.efficiency(64, link, parts - 1) < 0.9


@pytest.mark.slow
def test_a_step_on_paper_has_the_parameters_of_the_paper():
    """110 and 340 million, Devlin et al. 2019, section 3 (335 in the published weights)."""
    base, large = (on_paper.step_of(preset, 1e14, 4) for preset in on_paper.PRESETS)
    assert base.gradient_bytes / 4e6 == pytest.approx(110, abs=1)
    assert large.gradient_bytes / 4e6 == pytest.approx(336, abs=2)
    # An example's tokens pass forward and backward through every weight of the layers: 6 operations each.
    assert math.log2(base.compute_seconds * 1e14 / (6 * 85e6 * 32 * 128)) == pytest.approx(0, abs=0.15)


@pytest.mark.slow
def test_the_page_has_the_table_of_the_calculation():
    page = (_REPOSITORY / "docs" / "distribution.md").read_text()
    assert on_paper.table(100e12) in page


def test_wrong_flags_end_with_one_sentence():
    for arguments, said in (
        (["--batch_size=33"], "--batch_size=33 must be a multiple of 2"),
        (["--seq_length=4096"], "--seq_length=4096 must lie above --predictions=20 and be at most 512"),
    ):
        command = [sys.executable, "-m", "benchmarks.scaling", *arguments]
        ended = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True)
        assert ended.returncode == 1 and ended.stderr.startswith(f"error: {said}")
