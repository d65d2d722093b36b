"""The table that scripts end with: readable numbers, lines of at most 100 columns, paths in one piece."""

from kbert.cli.closing_output import chosen_settings, closing_table, plain_metrics


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


def test_temperature_and_thresholds_are_a_line_that_says_whether_they_are_applied():
    metrics = {
        "f1": 0.5, "temperature": 1.0, "calibration_error": 0.1, "best_f1": 0.6, "other_temperature": 1.0,
        "chosen_temperature": 0.25, "chosen_calibration_error": 0.05, "chosen_thresholds": [0.4, 0.5],
    }  # fmt: skip
    assert plain_metrics(metrics) == {"f1": 0.5}
    (line,) = chosen_settings(metrics).values()
    assert line.startswith(
        "temperature 0.2500, thresholds by label: not applied (kbert evaluate --keep_chosen"
    )
    assert chosen_settings(metrics, is_kept=True)["chosen"].endswith(": kept with the run")
    assert chosen_settings({"f1": 0.5}) == chosen_settings(None) == {}
