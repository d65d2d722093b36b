"""Time to quality: curves over a contestant's own seconds, turns of equal length, and what is refused."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks import time_to_quality
from benchmarks.learning import quality_report
from benchmarks.learning.on_the_clock import LossByTime, OnTheClock
from benchmarks.workers.contestants import Record, alternate

_REPOSITORY = Path(__file__).resolve().parents[2]
KBERT, PEER = ("kbert", False, "bfloat16"), ("hugging_face", True, "float32")


def steps(seconds, losses):
    return [
        {"seconds": s, "cpu_seconds": 2 * s, "masked_lm_loss": v}
        for s, v in zip(seconds, losses, strict=True)
    ]


def curve(seconds_of_step, number=40, window=4):
    """The loss falls from 10 by .1 a step."""
    return LossByTime(steps([seconds_of_step] * number, 10 - 0.1 * np.arange(number)), window)


def test_a_loss_is_the_mean_of_the_last_steps_that_had_ended():
    found = LossByTime(steps([5.0, 1.0, 1.0, 1.0], [8.0, 6.0, 4.0, 3.0]), window=2)
    assert [found.at(t) for t in (4.9, 5.0, 6.5, 7.0, 100)] == [None, 8.0, 7.0, 5.0, 3.5]
    # The first step, which compiles, counts; a mean of fewer steps than the window reaches nothing.
    assert found.seconds_to(7.5) == 6.0 and found.seconds_to(5.0) == 7.0 and found.seconds_to(3.4) is None


def test_one_lucky_step_reaches_no_loss():
    assert LossByTime(steps([1.0] * 3, [1.0, 9.0, 9.0]), window=3).seconds_to(1.0) is None


class Steady:
    """A contestant whose steps take a given time; what a `Contestant` is for `OnTheClock`."""

    def __init__(self, seconds):
        self.name, self.record, self.is_done, self._seconds = "steady", Record(), False, seconds

    def take_turn(self, num_steps):
        self.record.steps += steps([self._seconds] * num_steps, [1.0] * num_steps)


def test_fast_and_slow_get_the_same_time_in_turns_of_the_same_length():
    turns = []
    fast, slow = OnTheClock(Steady(0.5), 60), OnTheClock(Steady(4.0), 60)
    assert slow.name == "steady, minute 0.0 of 1"
    alternate([fast, slow], None, 10, show=lambda one: turns.append((one, one.used)))
    assert fast.used == 60 and slow.used == 60
    before = {fast: 0.0, slow: 0.0}
    for one, used in turns:
        assert used - before[one] <= 12  # ten seconds, and half a step of the slow one
        before[one] = used


def test_the_table_and_the_ratio_are_those_of_the_curves():
    curves = {KBERT: curve(1.0), PEER: curve(2.0, number=20)}
    records = {
        KBERT: Record({}, steps([1.0] * 40, [1.0] * 40)), PEER: Record({}, steps([2.0] * 20, [1.0] * 20)),
    }  # fmt: skip
    found = quality_report.results(curves, records, 40.0, [9.0, 7.0])
    assert found[KBERT]["losses"] == pytest.approx([9.25, 8.25, 6.25])
    assert found[PEER]["losses"] == pytest.approx([9.75, 9.25, 8.25])
    assert found[KBERT]["seconds_to"] == [13.0, 33.0] and found[PEER]["seconds_to"] == [26.0, None]
    lines = quality_report.table(found, 40 / 60, [9.0, 7.0]).splitlines()
    assert len(lines) == 4 and len({line.count("|") for line in lines}) == 1
    assert lines[3].startswith("| Hugging Face (compiled), float32 | 20 | 2.000 | 4.00 | 2.0 | 9.750 |")
    assert lines[3].endswith("| 0.43 | - |")
    row = quality_report.figures(found, [9.0, 7.0])["hugging_face+compile/float32"]
    assert row["seconds_to"] == {"9": 26.0, "7": None} and row["losses"]["1"] == pytest.approx(8.25)
    closing = quality_report.closing(curves, found, 40.0)
    assert closing["ratio"] == 2.0 and closing["at_loss"] == 8.25
    assert closing["ratio_to"] == "Hugging Face (compiled), float32"


def test_the_ratio_is_below_one_where_the_peer_is_ahead():
    curves = {KBERT: curve(2.0, number=20), PEER: curve(1.0)}
    records = {key: Record({}, steps([1.0], [1.0])) for key in curves}
    found = quality_report.results(curves, records, 40.0, [9.0])
    assert quality_report.closing(curves, found, 40.0)["ratio"] == 0.5


def test_the_page_draws_over_seconds(tmp_path):
    curves = {KBERT: curve(1.0), PEER: curve(2.0, number=20)}
    records = {key: Record({}, steps([1.0], [1.0])) for key in curves}
    found = quality_report.results(curves, records, 40.0, [9.0])
    quality_report.write_page(tmp_path / "page.html", curves, found, 40 / 60, [9.0], 4)
    page = (tmp_path / "page.html").read_text()
    assert "masked-LM loss by second" in page and "second 40" in page and "step 40" not in page
    assert "kbert, bfloat16 6.250; Hugging Face (compiled), float32 8.250" in page


def test_the_faster_precision_counts_after_the_warm_up(monkeypatch):
    def start(key, settings, pythons, stack):
        times = {"float32": [1.0, 1.0], "bfloat16": [9.0, 9.0]}[key[2]]  # while it compiles
        later = {"float32": 0.5, "bfloat16": 0.4}[key[2]]
        contestant = SimpleNamespace(name=key[0], is_done=False, record=Record())

        def take_turn(number):
            seconds = times.pop() if times else later
            contestant.record.steps += steps([seconds] * number, [1.0] * number)

        contestant.take_turn = take_turn
        return contestant

    monkeypatch.setattr(time_to_quality, "start", start)
    monkeypatch.setattr(time_to_quality, "FLAGS", SimpleNamespace(precisions=["float32", "bfloat16"]))
    assert time_to_quality.find_faster(("kbert", False), {}, {}) == (KBERT, 0.4)


def test_a_linear_decay_ends_with_the_minutes(monkeypatch):
    given = SimpleNamespace(decay="linear", minutes=2.0, warmup_steps=100)
    monkeypatch.setattr(time_to_quality, "FLAGS", given)
    assert time_to_quality.schedule_settings(0.4) == {"num_train_steps": 300}
    assert time_to_quality.schedule_settings(10.0) == {"num_train_steps": 101}  # never within the warm-up
    given.decay = "none"
    assert time_to_quality.schedule_settings(0.4) == time_to_quality.constant_rate()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--contestants=keras_hub"], "--contestants names 'keras_hub'; choose among kbert, model_garden"),
        (["--contestants=kbert,kbert+compile"], "--contestants names 'kbert' twice"),
        (["--losses=7,low"], "--losses=7,low must be positive numbers"),
        (["--weights_dir=w"], "--weights_dir: Model Garden's model has no format that kbert reads"),
        (["--weights_dir=.", "--contestants=kbert"], "--weights_dir: kbert exists; name another folder."),
        (["--decay=linear"], "--decay=linear: Model Garden takes part with a constant rate only"),
        (["--hidden_size=100"], "--hidden_size=100 must be a multiple of 64"),
    ],
)
def test_wrong_flags_end_with_one_sentence(arguments, said):
    command = [sys.executable, "-m", "benchmarks.time_to_quality", *arguments]
    ended = subprocess.run(command, cwd=_REPOSITORY, capture_output=True, text=True)
    assert ended.returncode == 1 and ended.stderr.startswith(f"error: {said}")
