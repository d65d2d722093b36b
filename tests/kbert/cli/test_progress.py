"""What goes on is told while nothing else is; on a terminal, progress stands on one line below the rest."""

import logging
import re
import time

import pytest

from kbert.cli import progress
from kbert.cli.progress import Progress, activity, awaited, log_when_silent


@pytest.fixture
def told(caplog):
    """A function that waits for so many lines, and returns all without their seconds."""
    caplog.set_level("INFO", logger="absl")

    def lines(number):
        end = time.monotonic() + 120
        while len(caplog.records) < number and time.monotonic() < end:
            time.sleep(0.01)
        return [re.sub(r": \d+ s so far$", "", message) for message in caplog.messages]

    return lines


def test_the_innermost_activity_is_told(told):
    with log_when_silent("kbert finetune", 0.05):
        assert set(told(1)) == {"kbert finetune"}
        with activity("outer"), activity("inner") as inner:
            assert told(3)[-1] == "inner"
            inner.text = "inner, half done"
            assert told(5)[-1] == "inner, half done"


def test_who_waits_for_others_is_quiet(told):
    def slow_lines():
        for line in "ab":
            time.sleep(0.4)
            yield line

    with log_when_silent("kbert tokenize", 0.05), activity("work"):
        assert list(awaited(slow_lines())) == ["a", "b"]
        assert told(0) == []
        assert set(told(1)) == {"work"}


def reported(monkeypatch, caplog, times_and_numbers, **options):
    """The lines of the reports (seconds after the start, how many are done), and of the end."""
    clock = [0.0]
    monkeypatch.setattr(progress, "monotonic", lambda: clock[0])
    with caplog.at_level(logging.INFO, logger="absl"):
        work = Progress("Wrote", "examples", 4000, **options)
        for clock[0], done in times_and_numbers:
            work.report(done)
        work.report_end("out")
    return caplog.messages


def test_progress_tells_rate_and_time_left(monkeypatch, caplog):
    line, end = reported(monkeypatch, caplog, [(20, 200), (28, 1000), (49, 3100), (50, 3200), (51, 3300)])
    assert line.startswith("Wrote:  80%") and line.endswith(" 3200/4000 [00:50<00:08, 100.00 examples/s]")
    assert end == "Wrote 3,300 examples in 51.0 s, 64.7 examples/s -> out"
