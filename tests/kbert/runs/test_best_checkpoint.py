"""Which evaluation is best, and when to give up hope."""

import json
import math

import numpy as np
import pytest

from kbert.runs.best_checkpoint import BestCheckpoint, indexed_step, read_index


def observe_all(best, values, phase=0, start=10):
    """Whether each evaluation was the best so far."""
    name = best.metric
    return [best.observe(start * n, {name: value}, phase) for n, value in enumerate(values, start=1)]


def test_higher_or_lower_is_better_and_the_first_of_equals_stays():
    assert observe_all(BestCheckpoint("f1", True), [0.5, 0.5, 0.7, 0.6]) == [True, False, True, False]
    assert observe_all(BestCheckpoint("loss", False), [0.5, 0.5, 0.7, 0.4]) == [True, False, False, True]


def test_what_is_no_number_is_never_best():
    best = BestCheckpoint("loss", False)
    nan = float("nan")
    assert observe_all(best, [nan, 0.5, nan, float("-inf")]) == [False, True, False, False]


def test_patience_waits_for_a_number_and_the_reason_is_said():
    best = BestCheckpoint("pearson", True, patience=2)
    nan = {"pearson": float("nan"), "loss": 0.5}
    for step in range(5):
        assert "pearson is not a number on the evaluation data" in best.why_none(nan)
        assert not best.observe(step, nan) and not best.patience_is_spent
    assert best.why_none(nan).endswith("for best_metric one of loss.")
    observe_all(best, [0.5, 0.4, 0.4])
    assert best.patience_is_spent and not best.why_none(nan)


def test_patience_counts_evaluations_in_a_row():
    best = BestCheckpoint("f1", True, patience=2)
    spent = []
    for n, value in enumerate([0.5, 0.4, 0.6, 0.6, 0.1], start=1):
        best.observe(n, {"f1": value})
        spent.append(best.patience_is_spent)
    assert spent == [False, False, False, False, True]
    assert not BestCheckpoint("f1", True).patience_is_spent


def test_patience_goes_on_after_a_stop():
    best = BestCheckpoint("f1", True, patience=3)
    observe_all(best, [0.5, 0.4, 0.4])
    again = BestCheckpoint("f1", True, patience=3)
    again.restore(json.loads(json.dumps(best.state())))
    assert not again.patience_is_spent
    again.observe(99, {"f1": 0.4})
    assert again.patience_is_spent


@pytest.mark.parametrize("step", [10, 20])
def test_a_best_of_data_without_the_metric_stays_until_the_next_evaluation(step, tmp_path):
    """Records of questions have another one than their file."""
    before, after = BestCheckpoint("span_accuracy", True), BestCheckpoint("f1", True)
    before.observe(10, {"span_accuracy": 0.5})
    state = before.state()
    if step == 20:  # a checkpoint is written before its evaluation
        before.observe(20, {"span_accuracy": 0.6})
    before.write_index(tmp_path)
    after.restore(state)
    after.observe_index(tmp_path, step, 0)
    after.write_index(tmp_path)
    assert after.step == read_index(tmp_path)["step"] == step
    assert after.observe(step, {"f1": 0.1})
    after.write_index(tmp_path)
    assert read_index(tmp_path)["metric"] == "f1" and read_index(tmp_path)["step"] == step


def test_what_is_no_number_is_null_in_json_and_comes_back(tmp_path):
    best, resumed = BestCheckpoint("accuracy", True), BestCheckpoint("accuracy", True)
    best.observe(1, {"accuracy": 0.5, "other_spearman": math.nan, "num_examples": 3})
    best.write_index(tmp_path)
    assert read_index(tmp_path)["metrics"] == {"accuracy": 0.5, "other_spearman": None, "num_examples": 3}
    resumed.restore(json.loads(json.dumps(best.state(), allow_nan=False)))
    np.testing.assert_equal(resumed.recorded(), best.recorded())
    assert resumed.state() == best.state()


def test_a_new_phase_begins_anew():
    best = BestCheckpoint("loss", False)
    observe_all(best, [1.0, 0.5])
    assert best.observe(30, {"loss": 2.0}, phase=1) and not best.observe(40, {"loss": 2.5}, phase=1)
    assert best.step == 30


def test_the_index_names_the_best(tmp_path):
    best = BestCheckpoint("f1", True)
    assert read_index(tmp_path) is None
    best.observe(3, {"f1": 0.5, "confusion": [[1, 2]]})
    best.write_index(tmp_path)
    assert read_index(tmp_path) == {
        "step": 3, "metric": "f1", "value": 0.5, "metrics": {"f1": 0.5, "confusion": [[1, 2]]},
    }  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["best.json"]
    resumed = BestCheckpoint("f1", True)
    for step in (2, 3):  # that of a checkpoint tells nothing of a later one
        assert resumed.step is None
        resumed.observe_index(tmp_path, step, phase=0)
    assert resumed.state() == best.state()
    assert resumed.observe(3, {"f1": 0.4}) and resumed.recorded() == (3, {"f1": 0.4}), "of other data"
    (tmp_path / "best.json").write_text("{")
    resumed.observe_index(tmp_path, 3, phase=0)
    assert indexed_step(tmp_path) is None and resumed.step == 3
    with pytest.raises(ValueError, match="best.json is broken; delete it, and name a checkpoint"):
        read_index(tmp_path)
    best.forget()
    best.write_index(tmp_path)
    assert not list(tmp_path.iterdir())
