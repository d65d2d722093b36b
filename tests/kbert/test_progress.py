"""Lines of progress: how many are done, how fast, how long the rest takes, and never too wide."""

import logging
import re

import pytest
from kbert.activity import SILENT_SECONDS
from kbert.log_lines import WIDTH
from kbert.progress import SECONDS_BETWEEN_LINES, Progress


def reported(caplog, times_and_numbers, total=4000, **options):
    """The lines of the reports (seconds after the start, how many are done), and of the end."""
    clock = [0.0]
    with caplog.at_level(logging.INFO, logger="absl"):
        progress = Progress("Wrote", "examples", total, clock=lambda: clock[0], **options)
        for clock[0], done in times_and_numbers:
            progress.report(done)
        progress.report_end()
    return caplog.messages


def test_progress_tells_speed_and_time_left(caplog):
    assert reported(caplog, [(2, 200), (10, 1000), (12, 1100)]) == [
        "Wrote 1,000 of 4,000 examples (25 %), 100 examples/s, 30s left.",
        "Wrote 1,100 examples in 12.0 s, 92 examples/s.",
    ]


def test_progress_of_an_unknown_total_tells_the_speed(caplog):
    lines = reported(caplog, [(10, 25), (20, 50), (21, 52)], total=None)
    assert lines[:2] == ["Wrote 25 examples.", "Wrote 50 examples, 2.5 examples/s."]


def test_what_an_earlier_run_did_does_not_count_for_the_speed(caplog):
    assert reported(caplog, [(1, 2100), (11, 3100), (20, 4000)], already_done=2000) == [
        "Wrote 3,100 of 4,000 examples (77 %), 100 examples/s, 9s left.",
        "Wrote 2,000 examples in 20.0 s, 100 examples/s.",
    ]


@pytest.mark.parametrize(("num_workers", "start", "piece"), [(1, 9.0, 2.0), (2, 9.0, 7.0), (8, 20.0, 30.0)])
def test_the_first_estimate_is_within_a_factor_of_two_whatever_the_start_took(
    caplog, num_workers, start, piece
):
    """Workers that need some time to start and then take turns, each a little behind the one before."""
    rounds = 6
    reports = sorted(
        (start + piece * (turn + 1) + 0.04 * piece * worker, worker)
        for turn in range(rounds) for worker in range(num_workers)
    )  # fmt: skip
    times = [time for time, _ in reports]
    lines = reported(
        caplog, [(time, 10 * (number + 1)) for number, time in enumerate(times)], 10 * len(times),
        num_workers=num_workers,
    )  # fmt: skip
    assert lines[0].startswith("Wrote 10 of ") and "left" not in lines[0], "no basis yet"
    first = next(line for line in lines if " left." in line)
    at = times[int(first.split()[1].replace(",", "")) // 10 - 1]
    minutes, seconds = re.search(r"(?:(\d+)m)?(\d+)s left", first).groups()
    said, truth = 60 * int(minutes or 0) + int(seconds), times[-1] - at
    assert truth / 2 <= said <= 2 * truth, first


def test_short_work_is_not_told_before_its_end(caplog):
    assert reported(caplog, [(1, 100), (2.9, 4000)]) == ["Wrote 4,000 examples in 2.9 s, 1,379 examples/s."]


def test_lines_come_before_the_silence_is_told():
    assert SECONDS_BETWEEN_LINES < 0.7 * SILENT_SECONDS  # see _EARLY of kbert/activity.py


@pytest.mark.parametrize("unit", ["examples", "bytes"])
def test_a_line_of_much_work_is_one_line(caplog, unit):
    clock = [0.0]
    with caplog.at_level(logging.INFO, logger="absl"):
        progress = Progress("Tokenized", unit, 9_876_543_210_000, clock=lambda: clock[0])
        for clock[0] in (1.0, 20.0):
            progress.report(int(clock[0] * 12_345_678))
    assert "left." in caplog.messages[-1] and len(caplog.messages[-1]) <= WIDTH


def test_the_end_says_where_the_results_are(caplog):
    with caplog.at_level(logging.INFO, logger="absl"):
        progress = Progress("Answered", "texts", 2, clock=iter([0.0, 1.0, 4.0]).__next__)
        progress.report(2)
        progress.report_end("answers.jsonl")
    assert caplog.messages == ["Answered 2 texts in 4.0 s, 0.5 texts/s -> answers.jsonl"]
