"""Trainings that end with their time: through the trainer, and on several workers."""

import logging

import pytest

from kbert.config import OptimizerConfig
from kbert.runs import checkpoint
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.training.optimizers import time_budget
from tests.kbert.training import one_weight


@pytest.fixture
def one_second_a_look(monkeypatch):
    """A clock that goes on by a second whenever a budget looks at it, and calls of up to half of the time."""
    seconds = iter(range(1000, 2000))
    clock = (lambda: float(next(seconds)),)
    monkeypatch.setattr(time_budget.TimeBudget.__init__, "__defaults__", clock)
    monkeypatch.setattr(time_budget, "_SHARE_OF_A_CALL", 0.5)


def lines_of(run):
    return [line for line in read_metrics(run.metrics_file) if line["split"] == "train"]


@pytest.mark.slow
def test_a_budget_ends_the_training_with_a_checkpoint_and_survives_a_stop(
    one_second_a_look, tmp_path, monkeypatch, caplog
):
    # Looks: two at the start, one after each call, of step 1, of 2, then of two steps, and one after the
    # checkpoint of step 4.
    optimizer = OptimizerConfig(
        learning_rate=1e-3, decay="budget", train_minutes=8 / 60, budget_warmup_proportion=0.5
    )
    config = one_weight.config_of(optimizer=optimizer, save_checkpoints_steps=4, eval_every_steps=12)
    assert (config.steps_per_execution, config.log_every_steps) == (2, 2)
    one_weight.register(monkeypatch)
    arguments = (tmp_path / "run", config, 1_000_000)

    class Stopped(Exception):
        pass

    tick, ticks = time_budget.TimeBudget.tick, []

    def stop_after_step_4(self, *num_steps):
        tick(self, *num_steps)
        ticks.append(self.state()["seconds_used"])
        if len(ticks) == 6:  # of the call that ends with step 6, after the checkpoint of step 4
            raise Stopped

    monkeypatch.setattr(time_budget.TimeBudget, "tick", stop_after_step_4)
    with pytest.raises(Stopped):
        one_weight.train_one_weight(*arguments)
    assert ticks == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    monkeypatch.setattr(time_budget.TimeBudget, "tick", tick)

    run = RunDirectory(tmp_path / "run")
    with caplog.at_level(logging.INFO, logger="absl"):
        metrics, _ = one_weight.train_one_weight(*arguments)
    assert metrics["loss"] > 0
    said = {text.split()[1]: text for text in caplog.messages if text.startswith("step ")}
    assert "  00:01 left  " in said["6"], "of the time, not of all steps"
    assert [line["step"] for line in lines_of(run)] == [2, 4, 6, 8]
    newest = checkpoint.list_checkpoints(run.checkpoints)[-1]
    assert newest.name == "step-00000008"
    assert checkpoint.read_state(newest)["schedule"] == {"seconds_used": 8.0}
    evaluated = [line["step"] for line in read_metrics(run.metrics_file) if line["split"] == "eval"]
    assert evaluated == [8]

    one_weight.train_one_weight(*arguments)  # finished: evaluated again, not trained
    assert [line["step"] for line in lines_of(run)] == [2, 4, 6, 8]


@pytest.mark.slow
def test_a_training_whose_time_ends_in_an_evaluation_ends_with_it(one_second_a_look, tmp_path, monkeypatch):
    """Nobody trains on with the rate of before it, and a line has the rate of its own step."""
    optimizer = OptimizerConfig(
        learning_rate=1e-3, decay="budget", train_minutes=5 / 60, budget_warmup_proportion=0.75
    )
    config = one_weight.config_of(optimizer=optimizer, save_checkpoints_steps=99, log_every_steps=99)
    one_weight.register(monkeypatch)
    for _ in range(2):  # then finished: evaluated again, not trained
        # Step 1 begins after 1 second, 2 and 3 after 2, 4 after 3; then it is 4, after its evaluation 5.
        _, run = one_weight.train_one_weight(tmp_path / "run", config, 50)
        lines = read_metrics(run.metrics_file)
        assert sorted((line["step"], line["split"]) for line in lines) == [(4, "eval"), (4, "train")]
        assert lines_of(run)[0]["learning_rate"] == pytest.approx(1e-3 * 0.6 / 0.75)
        newest = checkpoint.list_checkpoints(run.checkpoints)[-1]
        assert newest.name == "step-00000004"
        assert checkpoint.read_state(newest)["schedule"] == {"seconds_used": 5.0}


def test_steps_that_end_before_the_time_are_told(one_second_a_look, tmp_path, monkeypatch, caplog):
    optimizer = OptimizerConfig(
        learning_rate=1e-3, decay="budget", train_minutes=0.1, budget_warmup_proportion=0.5
    )
    config = one_weight.config_of(optimizer=optimizer, save_checkpoints_steps=99)
    one_weight.register(monkeypatch)
    with caplog.at_level(logging.INFO, logger="absl"):
        one_weight.train_one_weight(tmp_path / "run", config, 2)
    assert "2 steps have read each of the 24 rows of the training 0.333 times" in caplog.text
    # After step 2 it is 3 seconds, after its checkpoint 4, after its evaluation 5: five sixths of the time.
    told = "with 0.0 of 0.1 minutes left, so it ended at a learning rate of 0.000333: give it more steps"
    assert told in caplog.text


@pytest.mark.parametrize("warmup", [0.0, 0.5])
def test_a_time_that_is_over_after_the_first_step_is_told(
    one_second_a_look, tmp_path, monkeypatch, caplog, warmup
):
    optimizer = OptimizerConfig(
        learning_rate=1e-3, decay="budget", train_minutes=2 / 60, budget_warmup_proportion=warmup
    )
    one_weight.register(monkeypatch)
    config = one_weight.config_of(optimizer=optimizer, save_checkpoints_steps=99)
    one_weight.train_one_weight(tmp_path / "run", config, 50)
    assert ("so nothing was learned: give more" in caplog.text) == bool(warmup)
