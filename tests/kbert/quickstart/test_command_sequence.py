"""The steps of the quickstart: shown, logged, timed; a failed one ends it and names its log."""

import shlex

import pytest

from kbert.quickstart.command_sequence import CommandSequence


@pytest.fixture
def sequence(tmp_path):
    (tmp_path / "logs").mkdir()
    return CommandSequence(tmp_path)


def test_a_step_is_shown_logged_and_noted(sequence, capsys):
    output = sequence.step("What this module says", "this", "--text=two words")
    assert output.startswith("The Zen of Python")
    assert (sequence.logs / "01_this.log").read_text() == output
    (step,) = sequence.steps
    assert (step["title"], step["log"]) == ("What this module says", "logs/01_this.log")
    assert step["command"] == "python -m this '--text=two words'"
    shown = capsys.readouterr().out
    assert "[ 1] What this module says\n     $ python -m this '--text=two words'\n     The Zen" in shown
    assert 0 <= step["seconds"] <= sequence.total_seconds + 0.1


def test_no_line_is_wider_than_a_hundred_columns(sequence, capsys):
    arguments = [f"--text={'two words ' * number}" for number in range(1, 8)]
    sequence.step("Long", "json.tool", "--help", *arguments)
    shown = capsys.readouterr().out
    assert all(len(line) <= 100 for line in shown.splitlines())
    typed = shown.split("$ ", 1)[1].split("\n     usage")[0]
    assert shlex.split(typed.replace("\\\n", " ")) == ["python", "-m", "json.tool", "--help", *arguments]


def test_a_failed_step_names_its_log(sequence):
    with pytest.raises(ValueError, match=r"step 1 \(None\) failed with exit code 1; see .*01_module.log"):
        sequence.step("None", "no.such.module")
    assert "No module named" in (sequence.logs / "01_module.log").read_text()
    assert not sequence.steps
