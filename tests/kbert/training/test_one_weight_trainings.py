"""Stops and resumes, with a model of one weight: they do not ask what is trained."""

import dataclasses
import gc
import os
import re
import shutil
import signal
import weakref

import keras
import pytest
from absl import logging

from kbert.cli.progress import Progress
from kbert.cli.signals import StoppedBySignal
from kbert.config import OptimizerConfig, to_dict
from kbert.heads.parts import Part
from kbert.runs import checkpoint
from kbert.runs.metrics_file import read_metrics
from kbert.runs.run_directory import RunDirectory
from kbert.training.measuring.progress import TrainingProgress
from kbert.training.trainer import Trainer
from tests.kbert.training import one_weight
from tests.kbert.training.run_contents import assert_same_runs, numbers, signal_after_call

# Lines, checkpoints and evaluations at steps of their own, so that every stop lies within some interval.
CONFIG = one_weight.config_of(
    log_every_steps=4, save_checkpoints_steps=6, eval_every_steps=5, steps_per_execution=1, keep_checkpoints=9
)
STEPS = 14


def train(folder, config=CONFIG, num_steps=STEPS, **arguments):
    return one_weight.train_one_weight(folder, config, num_steps, **arguments)


@pytest.fixture(autouse=True)
def known_task(monkeypatch):
    one_weight.register(monkeypatch)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """(metrics, run) of a training that nothing happened to; nobody may change its folder."""
    with pytest.MonkeyPatch.context() as patch:
        one_weight.register(patch)
        return train(tmp_path_factory.mktemp("whole") / "run")


def of_use(caplog, path) -> str:
    """What is said to who uses a run."""
    caplog.clear()
    RunDirectory(path).checkpoint()
    return caplog.text


def test_all_that_is_due_comes_at_its_step(whole):
    _, run = whole
    steps = [(line["step"], line["split"]) for line in numbers(run)]
    assert steps == [
        (4, "train"), (5, "eval"), (8, "train"), (10, "eval"), (12, "train"), (14, "train"), (14, "eval"),
    ]  # fmt: skip
    saved = {checkpoint.parse_step(path) for path in checkpoint.list_checkpoints(run.checkpoints)}
    assert {6, 12, 14} <= saved


def test_a_run_that_is_no_longer_evaluated_keeps_its_best(whole, tmp_path):
    run = RunDirectory(shutil.copytree(whole[1].path, tmp_path / "run"))
    phase = dataclasses.replace(one_weight.phase_of(CONFIG, STEPS), evaluations={})
    assert one_weight.train_phases(run.path, CONFIG, [phase])[0] is None
    assert run.checkpoint("best").name == whole[1].checkpoint("best").name == "step-00000014"


@pytest.mark.parametrize("every", [14, 7])
def test_only_the_newest_checkpoints_and_the_best_stay(whole, tmp_path, every):
    """The last evaluation is the best here, after the one before was."""
    config = dataclasses.replace(CONFIG, save_checkpoints_steps=every, keep_checkpoints=1)
    metrics, run = train(tmp_path / "run", config)
    assert metrics == whole[0]
    best = run.checkpoint("best")
    assert best.name == "step-00000014" and checkpoint.list_checkpoints(run.checkpoints) == [best]
    assert train(tmp_path / "run", config)[0] == metrics


def test_checkpoints_come_by_the_clock_too(whole, tmp_path, monkeypatch):
    monkeypatch.setattr("kbert.training.trainer._LONGEST_UNSAVED", 0.0)
    metrics, run = train(tmp_path / "run", dataclasses.replace(CONFIG, keep_checkpoints=99))
    saved = [checkpoint.parse_step(path) for path in checkpoint.list_checkpoints(run.checkpoints)]
    assert saved == list(range(1, STEPS + 1))
    assert metrics == whole[0] and numbers(run) == numbers(whole[1])


@pytest.mark.parametrize(("every", "evaluated"), [(5, [5, 8]), (6, [8])])
def test_no_evaluation_less_than_half_an_interval_before_the_end(tmp_path, every, evaluated):
    _, run = train(tmp_path / "run", dataclasses.replace(CONFIG, eval_every_steps=every), num_steps=8)
    assert [line["step"] for line in numbers(run) if line["split"] == "eval"] == evaluated


@pytest.mark.slow
def test_a_signal_in_an_open_interval_loses_nothing(whole, tmp_path, monkeypatch, caplog):
    """Sums since the last line, the best so far, its patience and all counts come back."""
    at_step = 7
    with monkeypatch.context() as patch:
        signal_after_call(patch, at_step)
        with pytest.raises(StoppedBySignal) as stop:
            train(tmp_path / "run")
    assert stop.value.exit_code == 143
    assert str(stop.value) == (
        f"stopped by SIGTERM at step {at_step} of {STEPS}; everything is saved in {tmp_path / 'run'}, "
        "and the same command continues from there."
    )
    state = checkpoint.read_state(checkpoint.list_checkpoints(tmp_path / "run" / "checkpoints")[-1])
    expected = (at_step, at_step * CONFIG.train_batch_size, CONFIG.seed)
    assert (state["step"], state["examples_consumed"], state["seed"]) == expected
    assert state["config"] == to_dict(CONFIG)
    assert "has not ended: its last checkpoint is of step 7." in of_use(caplog, tmp_path / "run")
    metrics, run = train(tmp_path / "run")
    assert metrics == whole[0]
    assert_same_runs(run, whole[1])
    assert not of_use(caplog, run.path)
    assert run.checkpoint("best").name == whole[1].checkpoint("best").name


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "step"), [pytest.param(1, 0, marks=pytest.mark.long), (4, 10)])
def test_a_signal_in_an_evaluation_ends_it_between_batches(batch, step, whole, tmp_path, monkeypatch):
    """The first batch checks the names of metrics, when nothing is there to save; two are an evaluation.

    A finished run is evaluated once more, and loses nothing either.
    """
    report, seen = Progress.report, []

    def report_and_signal(self, done):
        report(self, done)
        seen.append(done)
        if len(seen) == batch:
            os.kill(os.getpid(), signal.SIGTERM)

    with monkeypatch.context() as patch:
        patch.setattr(Progress, "report", report_and_signal)
        with pytest.raises(StoppedBySignal, match=f"at step {step} of"):
            train(tmp_path / "run")
    assert len(seen) == batch
    assert (tmp_path / "run").exists() == bool(step)
    metrics, run = train(tmp_path / "run")
    assert metrics == whole[0]
    assert_same_runs(run, whole[1])
    seen = [0] * (batch - 1)
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "report", report_and_signal)
        with pytest.raises(StoppedBySignal, match=f"at step {STEPS} of"):
            train(tmp_path / "run")
    assert_same_runs(run, whole[1])


@pytest.mark.slow
def test_a_run_that_goes_on_without_its_metric_is_refused_before_a_step(tmp_path, monkeypatch):
    """Evaluation data may change, as from a file of questions to records."""
    config = dataclasses.replace(CONFIG, best_metric="closeness")
    with monkeypatch.context() as patch:
        signal_after_call(patch, 7)
        with pytest.raises(StoppedBySignal):
            train(tmp_path / "run", config)
    monkeypatch.setattr(one_weight.OneWeight, "metric_sums", lambda self, outputs, batch: {})
    with pytest.raises(ValueError, match="best_metric='closeness' is not evaluated here"):
        train(tmp_path / "run", config)
    assert [line["step"] for line in numbers(RunDirectory(tmp_path / "run"))] == [4, 5]  # none of step 8


@pytest.mark.slow
def test_the_batch_that_checks_names_warns_of_no_values(tmp_path, monkeypatch, caplog):
    """The first labels of a sorted file are all the same, which is not so of the file."""

    def summarize(_, metrics):
        logging.warning("all labels are the same")
        return metrics

    monkeypatch.setattr(one_weight.OneWeight, "summarize", summarize)
    train(tmp_path / "run", num_steps=5)
    assert caplog.text.count("all labels are the same") == 3  # two lines of the training, one evaluation


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_very_same_numbers(whole, tmp_path, monkeypatch):
    """After a line that no checkpoint knows of, and while the next checkpoint was being written."""

    class Killed(Exception):
        pass

    train_line = TrainingProgress.train

    def killed_at_8(self, step, *arguments):
        train_line(self, step, *arguments)
        if step == 8:
            raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(TrainingProgress, "train", killed_at_8)
        with pytest.raises(Killed):
            train(tmp_path / "run")
    assert [line["step"] for line in read_metrics(tmp_path / "run" / "metrics.jsonl")] == [4, 5, 8]
    (tmp_path / "run" / "checkpoints" / "step-00000008.tmp").mkdir()
    metrics, run = train(tmp_path / "run")
    assert metrics == whole[0]
    assert_same_runs(run, whole[1])


@pytest.mark.long
@pytest.mark.parametrize("at_step", [7, 10])  # the last: before the evaluation that ends the training
def test_patience_and_the_best_survive_a_stop(tmp_path, monkeypatch, caplog, at_step):
    """At a learning rate of almost nothing: after the first evaluation none is better."""
    config = dataclasses.replace(
        CONFIG, optimizer=OptimizerConfig(name="adamw", learning_rate=1e-12), eval_every_steps=2
    )
    whole_metrics, whole = train(tmp_path / "whole", config, patience=4)
    assert checkpoint.parse_step(whole.checkpoint("best")) == 2
    lines = [(line["step"], line["split"]) for line in numbers(whole)]
    assert lines[-4:] == [(8, "train"), (8, "eval"), (10, "train"), (10, "eval")]  # each may be the last
    with monkeypatch.context() as patch:
        signal_after_call(patch, at_step)
        with pytest.raises(StoppedBySignal):
            train(tmp_path / "run", config, patience=4)
    metrics, run = train(tmp_path / "run", config, patience=4)
    assert not of_use(caplog, run.path)
    assert metrics == whole_metrics
    assert_same_runs(run, whole)


@pytest.mark.slow
def test_a_loss_that_is_no_number_stops_the_run_and_saves_nothing(tmp_path):
    config = one_weight.config_of(
        optimizer=OptimizerConfig(learning_rate=1e38), log_every_steps=4, save_checkpoints_steps=2
    )
    with pytest.raises(FloatingPointError, match="by step 2; nothing was saved. Other settings need"):
        train(tmp_path / "run", config)
    assert not checkpoint.list_checkpoints(tmp_path / "run" / "checkpoints")


def _normalized(model):
    norm = keras.layers.BatchNormalization(center=False, scale=False, name="norm")
    return keras.Model(model.input, {"prediction": norm(model.output["prediction"])})


def _frozen(model):
    fixed = one_weight.Weight(name="fixed", trainable=False)
    return keras.Model(model.input, {"prediction": fixed(model.output["prediction"])})


def _regularized(model):
    regularizer = keras.layers.ActivityRegularization(l2=1.0)
    return keras.Model(model.input, {"prediction": regularizer(model.output["prediction"])})


def _with_unread_output(model):
    unread = one_weight.Weight(name="scale_2")(model.output["prediction"])
    return keras.Model(model.input, model.output | {"unread": unread})


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_normalized, "no checkpoint would hold them: norm/moving_mean, norm/moving_variance. Freeze layers"),
        (_frozen, "no checkpoint would hold them: fixed/weight. Freeze layers"),
        (_regularized, "one_weight: a layer of build_model adds a loss of its own"),
        (_with_unread_output, "one_weight: no loss reads scale_2/weight; leave"),
    ],
)
def test_what_a_training_would_lose_of_a_model_is_refused(change, sentence, tmp_path, monkeypatch):
    """A task of somebody's own may have any layer of Keras's."""
    build = one_weight.OneWeight.build_model
    monkeypatch.setattr(
        one_weight.OneWeight, "build_model", lambda self, encoder: change(build(self, encoder))
    )
    if change is _with_unread_output:
        parts = (*one_weight.OneWeight.parts, Part("scale_2", "sequence_output"))
        monkeypatch.setattr(one_weight.OneWeight, "parts", parts)
    with pytest.raises(ValueError, match=re.escape(sentence)):
        train(tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_training_does_not_share_the_memory_with_the_one_before(tmp_path, monkeypatch):
    """Also where Python does not look for cycles meanwhile."""
    made, initialize = [], Trainer.__init__

    def noting(self, *arguments):
        assert not any(reference() for reference in made)
        made.append(weakref.ref(self))
        initialize(self, *arguments)

    monkeypatch.setattr(Trainer, "__init__", noting)
    gc.disable()
    try:
        for name in ("first", "second"):
            train(tmp_path / name, num_steps=2)
    finally:
        gc.enable()
    assert len(made) == 2
