"""The table that scripts end with: readable numbers, lines of at most 100 columns, paths in one piece."""

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


def test_tables_and_lists_are_no_numbers():
    metrics = {"accuracy": 0.5, "confusion": [[1]], "counts": {"a": 1}, "f1": None}
    assert plain_metrics(metrics) == {"accuracy": 0.5, "f1": None}
    assert plain_metrics(None) == {}
