"""Log lines: at most 100 columns, no word lost; on a terminal, lines of progress take each other's place."""

import logging
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from absl import logging as absl_logging
from kbert.log_lines import PROGRESS, SHORTENED, LineFormatter, folded, only_progress, shortened

REPOSITORY = Path(__file__).resolve().parents[2]
TRAINING = """
from kbert import command_line

def main(argv):
    from kbert.training.measuring.progress import TrainingProgress

    progress = TrainingProgress(None, num_steps=3, examples_per_step=8)
    for step in (1, 2, 3):
        progress.train(step, {"loss": 1 / step}, learning_rate=0.1)
        if step == 2:
            print("printed on the way")
            progress.evaluate(step, {"accuracy": 0.75})
    print("closing table")

command_line.run(main)
"""


@pytest.mark.parametrize("length", [0, 3, 99, 100, 101, 250])
def test_a_long_line_is_folded_between_words(length):
    line = ("ab  cde " * 40)[:length].rstrip()
    parts = folded(line).split("\n")
    assert all(len(part) <= 100 for part in parts) and (len(parts) == 1) == (len(line) <= 100)
    assert folded(line).split() == line.split()
    assert all(part.startswith("    ") for part in parts[1:])


def test_a_path_stays_whole_and_a_shortened_line_says_so():
    path = "/folder" * 30
    assert folded(f"the run is in {path}").split("\n") == ["the run is in", f"    {path}"]
    assert shortened("x" * 100) == "x" * 100
    assert shortened("word " * 30) == "word " * 19 + "word…" and len(shortened("x" * 300)) == 100


def test_the_formatter_folds_each_line_and_leaves_tracebacks_alone():
    def record(message, **marks):
        return logging.makeLogRecord({"msg": message, "levelno": 20} | marks)

    formatter, long = LineFormatter(), "word " * 30
    assert formatter.format(record(f"a\n{long}b")) == f"a\n{folded(long + 'b')}"
    assert formatter.format(record(long, **SHORTENED)) == shortened(long)
    try:
        raise KeyError("k" * 150)
    except KeyError:
        told = formatter.format(record("short", exc_info=sys.exc_info()))
    assert told.startswith("short\nTraceback") and "k" * 150 in told


def test_only_progress_and_warnings_are_shown_while_it_lasts():
    lines = {
        "an example": {"levelno": logging.INFO},
        "half done": {"levelno": logging.INFO} | PROGRESS,
        "a warning": {"levelno": logging.WARNING},
    }
    handler = absl_logging.get_absl_handler()

    def shown():
        return [line for line, marks in lines.items() if handler.filter(logging.makeLogRecord(marks))]

    with only_progress():
        assert shown() == ["half done", "a warning"]
    assert shown() == list(lines)


def on_a_terminal(code, columns=100, **variables):
    """All that a script writes to a terminal of so many columns, as text."""
    own, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=REPOSITORY, env=os.environ | {"TERM": "xterm"} | variables,
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
    assert "step 1/3  loss 1  " in written and "step 2/3  loss 0.5  " in written
    first, evaluated, last, closing = screen(written)
    assert (first, closing) == ("printed on the way", "closing table")
    assert evaluated == ("step 2/3  evaluation: accuracy 0.75") and last.startswith(
        "step 3/3  loss 0.3333  learning_rate 0.1"
    )


def test_a_narrow_terminal_cuts_progress_and_nothing_else():
    written = on_a_terminal(TRAINING, columns=30)
    drawn = [part for part in written.replace("\n", "\r").split("\r") if part.startswith("step 1/3")]
    assert drawn and all(len(part) <= 30 for part in drawn)
    assert screen(written)[-2].endswith(" examples/s"), "the last step is a whole line"


@pytest.mark.parametrize("terminal", [False, True])
def test_files_and_dumb_terminals_get_whole_lines(terminal):
    if terminal:
        told = on_a_terminal(TRAINING, TERM="dumb").replace("\r\n", "\n")
    else:
        command = [sys.executable, "-c", TRAINING]
        told = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True).stderr
    assert "\r" not in told
    steps = [line for line in told.splitlines() if line.startswith("step ")]
    assert [line[:8] for line in steps] == ["step 1/3", "step 2/3", "step 2/3", "step 3/3"]
    assert all(len(line) <= 100 for line in told.splitlines())
