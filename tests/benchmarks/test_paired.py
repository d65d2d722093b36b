"""Seeds of runs beside each other: each with the same seed."""

import json

import pytest

from benchmarks.paired import read_scores


def write(folder, scores):
    """A folder with the `summary.json` of seed -> accuracy."""
    folder.mkdir()
    summary = {"seeds": [*scores], "metrics": {"accuracy": {"values": [*scores.values()]}}}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    return str(folder)


def test_scores_are_in_the_order_of_the_first_runs_seeds(tmp_path):
    first = write(tmp_path / "first", {1: 0.1, 2: 0.2, 3: 0.3})
    second = write(tmp_path / "second", {3: 0.6, 1: 0.4, 2: 0.5})
    scores = read_scores([first, second], ["accuracy"])
    assert {folder: each["accuracy"].tolist() for folder, each in scores.items()} == {
        first: [0.1, 0.2, 0.3], second: [0.4, 0.5, 0.6]
    }  # fmt: skip
    of_others = r"has the seeds \[1, 2.*\]; expected those of .*first, \[1, 2, 3\]"
    for others in ({1: 0.4, 2: 0.5, 4: 0.6}, {1: 0.4, 2: 0.5}):
        other = write(tmp_path / str(len(others)), others)
        with pytest.raises(ValueError, match=of_others):
            read_scores([first, other], ["accuracy"])
    with pytest.raises(ValueError, match="first has no metric 'f1'; expected some of accuracy"):
        read_scores([first], ["f1"])
