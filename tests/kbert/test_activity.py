"""Long work is told while nothing else is logged, and only then."""

import re
import time

from absl import logging
from kbert.activity import activity, at_rest, awaited, told_when_silent


def lines(caplog):
    return [re.sub(r":.*| \.\.\.$", "", record.getMessage()) for record in caplog.records]


def wait_for(caplog, number):
    end = time.monotonic() + 120
    while len(caplog.records) < number and time.monotonic() < end:
        time.sleep(0.01)


def test_the_innermost_activity_is_told_again_and_again(caplog):
    caplog.set_level("INFO", logger="absl")
    with told_when_silent(0.05), activity("outer"):
        with activity("inner") as inner:
            wait_for(caplog, 2)
            inner.text = "inner, half done"
            wait_for(caplog, 4)
        told = len(caplog.records)
        wait_for(caplog, told + 2)
    found = lines(caplog)
    assert found[:2] == ["inner", "inner"] and "inner, half done" in found and found[-1] == "outer"


def test_other_lines_and_no_activity_keep_it_quiet(caplog):
    caplog.set_level("INFO", logger="absl")
    with told_when_silent(1.0):
        with activity("work"):
            for _ in range(15):
                logging.info("own: line")
                time.sleep(0.1)
        time.sleep(0.3)
    assert set(lines(caplog)) == {"own"}


def test_the_first_line_comes_sooner_where_work_has_a_name(caplog):
    caplog.set_level("INFO", logger="absl")
    with told_when_silent(1000.0, first_seconds=0.1), activity("loading"):
        wait_for(caplog, 1)
    assert lines(caplog) == ["loading"] and caplog.records[0].is_progress


def test_work_without_a_name_is_told_by_the_script(caplog):
    caplog.set_level("INFO", logger="absl")
    with told_when_silent(0.05, first_seconds=0.01, script="kbert finetune"):
        wait_for(caplog, 2)
    assert set(lines(caplog)) == {"kbert finetune"}


def test_who_waits_for_others_is_quiet(caplog):
    caplog.set_level("INFO", logger="absl")

    def slow_lines():
        for line in "ab":
            time.sleep(0.3)
            yield line

    with told_when_silent(0.1, first_seconds=0.1), activity("work"):
        assert list(awaited(slow_lines())) == ["a", "b"]
        with at_rest():
            time.sleep(0.3)
        assert lines(caplog) == []
        wait_for(caplog, 1)
    assert set(lines(caplog)) == {"work"}


def test_seconds_in_which_the_process_stood_still_are_not_counted(caplog, monkeypatch):
    """One look at the clock an hour later is one look."""
    caplog.set_level("INFO", logger="absl")
    hours = iter(range(0, 10**9, 3600))
    # Of this module alone: servers of other tests set their timers by time.monotonic.
    monkeypatch.setattr("kbert.activity.monotonic", lambda: next(hours))
    with told_when_silent(1000.0, first_seconds=1000.0), activity("work"):
        time.sleep(0.6)
    assert lines(caplog) == []


def test_a_program_that_only_imports_hears_nothing(caplog):
    caplog.set_level("INFO", logger="absl")
    with activity("work"):
        time.sleep(0.3)
    assert caplog.records == []
