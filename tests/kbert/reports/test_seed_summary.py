"""Mean and sample deviation over seeds, against NumPy."""

import json
import math

import numpy as np
import pytest

from kbert.reports.seed_summary import seed_table, summarize_seeds, write_summary

RUNS = {
    1: {"accuracy": 0.5, "f1": 0.25, "confusion": [[1]]},
    2: {"accuracy": 0.75, "f1": 0.5, "confusion": [[2]]},
    7: {"accuracy": 0.625, "f1": 0.0, "confusion": [[3]]},
}


def test_mean_and_sample_deviation():
    summary = summarize_seeds(RUNS)
    assert summary["seeds"] == [1, 2, 7] and set(summary["metrics"]) == {"accuracy", "f1"}
    for name, column in summary["metrics"].items():
        values = [run[name] for run in RUNS.values()]
        assert column["values"] == values
        assert column["mean"] == pytest.approx(np.mean(values))
        assert column["deviation"] == pytest.approx(np.std(values, ddof=1))
    assert seed_table(summary).splitlines() == [
        "     seed  accuracy      f1",
        "        1    0.5000  0.2500",
        "        2    0.7500  0.5000",
        "        7    0.6250  0.0000",
        "     mean    0.6250  0.2500",
        "deviation    0.1250  0.2500",
    ]


def test_what_a_seed_does_not_give_is_no_number():
    summary = summarize_seeds({1: {"accuracy": 0.5}, 2: {"accuracy": 0.7, "temperature": 1.5}})
    assert summary["metrics"]["accuracy"]["mean"] == pytest.approx(0.6)
    assert math.isnan(summary["metrics"]["temperature"]["mean"])


def test_one_seed_has_no_deviation(tmp_path):
    summary = summarize_seeds({3: RUNS[1]})
    assert summary["metrics"]["f1"] == {"mean": 0.25, "deviation": None, "values": [0.25]}
    assert "deviation" not in seed_table(summary)
    write_summary(tmp_path, summary)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert [path.name for path in tmp_path.iterdir()] == ["summary.json"]


def test_a_metric_that_is_no_number_has_no_deviation(tmp_path):
    summary = summarize_seeds({1: {"spearman": math.nan}, 2: {"spearman": 0.5}})
    assert math.isnan(summary["metrics"]["spearman"]["deviation"]) and "nan" in seed_table(summary)
    write_summary(tmp_path, summary)
    assert json.loads((tmp_path / "summary.json").read_text())["metrics"]["spearman"]["values"] == [None, 0.5]
