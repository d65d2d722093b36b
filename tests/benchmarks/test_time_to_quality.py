"""Time to quality: curves over a contestant's own seconds, and turns of equal length."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import time_to_quality
from benchmarks.workers.contestants import Record, alternate
from benchmarks.workers.on_the_clock import LossByTime, OnTheClock


def steps(seconds, losses):
    return [
        {"seconds": s, "cpu_seconds": 2 * s, "masked_lm_loss": v}
        for s, v in zip(seconds, losses, strict=True)
    ]


def test_a_loss_is_the_mean_of_the_last_steps_that_had_ended():
    found = LossByTime(steps([5.0, 1.0, 1.0, 1.0], [8.0, 6.0, 4.0, 3.0]), window=2)
    assert [found.at(t) for t in (4.9, 5.0, 6.5, 7.0, 100)] == [None, 8.0, 7.0, 5.0, 3.5]
    # The first step, which compiles, counts; a mean of fewer steps than the window reaches nothing.
    assert found.seconds_to(7.5) == 6.0 and found.seconds_to(5.0) == 7.0 and found.seconds_to(3.4) is None


def test_one_lucky_step_reaches_no_loss():
    assert LossByTime(steps([1.0] * 3, [1.0, 9.0, 9.0]), window=3).seconds_to(1.0) is None


class Steady:
    """A contestant whose steps take a given time; what a `Contestant` is for `OnTheClock`."""

    def __init__(self, name, seconds, first_seconds=None):
        self.name, self.record, self.is_done = name, Record(), False
        self._seconds, self._first = seconds, [first_seconds or seconds] * 2

    def take_turn(self, num_steps):
        for _ in range(num_steps):
            self.record.steps += steps([self._first.pop() if self._first else self._seconds], [1.0])


def test_fast_and_slow_get_the_same_time_in_turns_of_the_same_length():
    fast, slow = OnTheClock(Steady("fast", 0.5), 60), OnTheClock(Steady("slow", 4.0), 60)
    assert slow.name == "slow, minute 0.0 of 1"
    while not (fast.is_done and slow.is_done):
        before = {one: one.used for one in (fast, slow)}
        alternate([fast, slow], 1, 10)
        assert all(one.used - used <= 12 for one, used in before.items())  # and half a step of the slow one
    assert fast.used == 60 and slow.used == 60


def test_losses_by_share_of_the_time():
    record = Record({}, steps([1.0] * 200, 10 - 0.02 * np.arange(200)))
    row = time_to_quality.figures({"kbert/float32": record}, 200.0)["kbert/float32"]
    assert list(row["losses"].values()) == pytest.approx([9.51, 8.51, 6.51])
    assert row["seconds_to"][7] == 176.0 and row["seconds_to"][6] is None
    assert time_to_quality.table({"kbert/float32": row}, 200 / 60).endswith("| 2.93 | - | - | - | - | - |")


def test_the_faster_precision_counts_after_the_warm_up(monkeypatch):
    @contextmanager
    def started(names, kind, settings):
        yield [Steady(names[0], 0.5, 1.0), Steady(names[1], 0.4, 9.0)]  # the first steps compile

    monkeypatch.setattr(time_to_quality, "started", started)
    found = time_to_quality.find_faster(["kbert/float32", "kbert/bfloat16"], SimpleNamespace())
    assert found == ["kbert/bfloat16"]
