"""The table that scripts end with: readable numbers, lines of at most 100 columns, paths in one piece."""

import random

import pytest

from kbert.cli.closing_output import closing_table, plain_metrics


def test_numbers_are_rounded_and_names_lined_up():
    values = {"accuracy": 0.90402, "examples": 1821, "rate": 2e-5, "none": None, "ok": True, "run": "runs/a"}
    assert closing_table(values).splitlines() == [
        "accuracy  0.9040",
        "examples  1,821",
        "rate      2e-05",
        "none      –",
        "ok        yes",
        "run       runs/a",
    ]
    assert closing_table({}) == ""


@pytest.mark.parametrize("seed", range(20))
def test_words_are_folded_within_the_width_and_none_is_lost(seed):
    rng = random.Random(seed)
    values = {
        "n" * rng.randint(1, 30): " ".join("word"[: rng.randint(1, 4)] for _ in range(rng.randint(0, 60)))
        for _ in range(4)
    }
    lines = closing_table(values).splitlines()
    longest = max((len(word) for text in values.values() for word in text.split()), default=0)
    indent = max(map(len, values), default=0) + 2
    assert all(len(line) <= max(100, indent + longest) for line in lines)
    shown = " ".join(line[indent:] for line in lines).replace("–", " ").split()
    assert shown == [word for text in values.values() for word in text.split()]


def test_a_path_stays_in_one_piece():
    path = "/a-folder" * 20
    assert closing_table({"run": path}) == f"run  {path}"


def test_tables_and_lists_are_no_numbers():
    metrics = {"accuracy": 0.5, "confusion": [[1]], "counts": {"a": 1}, "f1": None}
    assert plain_metrics(metrics) == {"accuracy": 0.5, "f1": None}
    assert plain_metrics(None) == {}
