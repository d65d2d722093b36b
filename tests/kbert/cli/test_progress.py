"""What goes on is told while nothing else is; on a terminal, progress stands on one line below the rest."""

import logging
import os
import pty
import re
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from kbert.cli import progress
from kbert.cli.progress import Progress, activity, awaited, log_when_silent

REPOSITORY = Path(__file__).resolve().parents[3]
TRAINING = """
import time
from kbert.cli import progress, script

progress.SECONDS_ON_A_TERMINAL = progress.SECONDS_IN_A_FILE = 0.5

def main():
    from kbert.training.measuring.progress import TrainingProgress
    from kbert.training.measuring.step_work import StepWork

    training = TrainingProgress(None, num_steps=3)
    for step in (1, 2, 3):
        training.train(step, {"loss": 1 / step}, 0.1, StepWork.for_batch(8, 4))
        if step == 2:
            print("printed on the way")
            training.evaluate(step, {"accuracy": 0.75})
            with progress.activity("a long pause"):
                time.sleep(1.2)
    print("closing table")

script.run(main)
"""


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


def test_what_an_earlier_run_did_does_not_count_for_the_rate(monkeypatch, caplog):
    reports = [(10, 1500), (40, 3000), (50, 4000)]
    line, end = reported(monkeypatch, caplog, reports, already_done=1000)
    assert line.endswith(" 3000/4000 [00:40<00:20, 50.00 examples/s]")
    assert end == "Wrote 3,000 examples in 50.0 s, 60.0 examples/s -> out"


def on_a_terminal(code):
    """All that a script writes to a terminal of 100 columns, as text."""
    own, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, env=os.environ | {"TERM": "xterm"},
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(own, 4096):
            written += chunk
    except OSError:  # Linux's end of a terminal that nobody holds open any more
        pass
    os.close(own)
    assert process.wait(60) == 0, written
    return written.decode()


def screen(written):
    """The rows that stay to be seen."""
    rows, column = [""], 0
    for character in written:
        if character == "\r":
            column = 0
        elif character == "\n":
            rows.append("")
        else:
            rows[-1] = rows[-1][:column].ljust(column) + character + rows[-1][column + 1 :]
            column += 1
    return [row.rstrip() for row in rows if row.strip()]


def test_progress_stands_on_one_line_of_a_terminal_and_the_rest_above_it():
    written = on_a_terminal(TRAINING)
    assert "\rstep 1/3  " in written and "\rstep 2/3  " in written and "\ra long pause: 0 s so far" in written
    first, evaluated, last, closing = screen(written)
    assert (first, closing) == ("printed on the way", "closing table")
    assert evaluated == ("step 2/3  evaluation: accuracy 0.75") and last.startswith("step 3/3  ")
