"""What a run says while it goes on: rates, time left, and lines that are always JSON."""

import json
import time
from types import SimpleNamespace

import pytest
import tensorflow as tf

from kbert.runs.metrics_file import MetricsFile, read_metrics
from kbert.training.measuring import progress as progress_module
from kbert.training.measuring.peak_flops import PeakFlops
from kbert.training.measuring.progress import TrainingProgress, make_progress
from kbert.training.measuring.step_work import StepWork, training_flops
from tests.conftest import tiny_pretraining_config


class Clock:
    """Seconds that pass when told to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def metrics_file(tmp_path):
    return MetricsFile(tmp_path / "metrics.jsonl")


def work(tokens, positions=1000, examples=8):
    return StepWork(examples, tokens, tokens**2 / examples, 10, positions)


def strictly_read(metrics_file):
    """As any JSON reader would: not-a-number and infinities are no JSON."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in metrics_file.path.read_text().splitlines()]


def test_rates_are_those_of_the_interval_without_its_pauses(metrics_file, clock):
    peak = PeakFlops(4000.0, "made up")
    progress = TrainingProgress(
        metrics_file, 100, 0, clock, count_flops=lambda work: 30 * work.tokens, peak=peak,
        wall_clock=lambda: 1.7e9,
    )  # fmt: skip
    clock.now += 30
    with progress.paused("evaluation", 10):
        clock.now += 60
    clock.now += 20
    progress.train(10, {"loss": 2.0}, 1e-4, work(800, examples=80))
    (line,) = strictly_read(metrics_file)
    assert line == {
        "step": 10,
        "split": "train",
        "loss": 2.0,
        "learning_rate": 1e-4,
        "examples_per_second": 1.6,
        "tokens_per_second": 16.0,
        "token_share": 0.8,
        "tokens_seen": 800,
        "flops_per_second": 480.0,
        "share_of_peak": 0.12,
        "elapsed_seconds": 110.0,
        "time": 1.7e9,
    }


def test_the_rate_of_slow_steps_is_not_none(metrics_file, clock, caplog):
    caplog.set_level("INFO", logger="absl")
    progress = TrainingProgress(metrics_file, 100, 0, clock)
    clock.now += 400
    progress.train(10, {"loss": 2.0}, 1e-4, work(800, examples=10))
    assert strictly_read(metrics_file)[0]["examples_per_second"] == 0.025
    assert "  0.025 examples/s  " in caplog.text


def test_a_resume_within_an_interval_rates_only_the_steps_it_made(metrics_file, clock):
    """The interval's sums begin at its first step, the clock of this process at its own."""
    first = TrainingProgress(metrics_file, 100, 0, clock)
    clock.now += 10
    first.train(10, {"loss": 1.0}, 1e-4, work(800, examples=80))
    second = TrainingProgress(metrics_file, 100, 15, clock, before=first.state(15))
    clock.now += 5
    second.train(20, {"loss": 1.0}, 1e-4, work(800, examples=80))
    lines = strictly_read(metrics_file)
    assert [line["examples_per_second"] for line in lines] == [8.0, 8.0]
    assert [line["tokens_per_second"] for line in lines] == [80.0, 80.0]
    assert [line["tokens_seen"] for line in lines] == [800, 1600]
    assert [line["elapsed_seconds"] for line in lines] == [10.0, 15.0]


def test_an_evaluation_of_the_very_step_is_not_counted_as_it_comes_again(metrics_file, clock):
    progress = TrainingProgress(metrics_file, 100, 0, clock)
    progress.train(4, {"loss": 1.0}, 1e-3, work(500))
    progress.evaluate(4, {"loss": 1.0})
    assert progress.state(4)["num_lines"] == 1
    progress.train(8, {"loss": 1.0}, 1e-3, work(500))
    assert progress.state(8)["num_lines"] == 3


def test_a_score_that_may_choose_the_best_checkpoint_is_in_the_log(metrics_file, clock, caplog):
    caplog.set_level("INFO", logger="absl")
    squad = {"f1": 70.0, "best_f1": 72.0, "best_f1_thresh": 1.5, "chosen_threshold": 1.25}
    TrainingProgress(metrics_file, 100, 0, clock).evaluate(4, squad | {"temperature": 1.0})
    assert caplog.messages == ["step 4/100  evaluation: f1 70  best_f1 72"]


def test_the_progress_of_a_phase_has_its_number_its_share_and_event_files(tmp_path, monkeypatch):
    monkeypatch.setattr(progress_module, "tensorboard_is_installed", lambda: True)
    config = tiny_pretraining_config(peak_flops=1e9)
    run = SimpleNamespace(path=tmp_path, metrics_file=tmp_path / "metrics.jsonl")
    strategy = tf.distribute.get_strategy()
    phases = [SimpleNamespace(config=config, first_step=step) for step in (0, 10)]
    plan = SimpleNamespace(phases=phases, num_train_steps=20)
    progress = make_progress(config, plan, 1, run, strategy, MetricsFile(run.metrics_file), 10)
    work = StepWork.for_batch(8, 24, 3)
    time.sleep(0.05)  # a share above 1 would be left out
    progress.train(12, {"masked_lm_loss": 2.0}, 1e-3, work)
    (line,) = read_metrics(run.metrics_file)
    flops = training_flops(config.encoder, work)
    per_step = line["flops_per_second"] / line["tokens_per_second"]
    assert line["phase"] == 2 and per_step == pytest.approx(flops / work.tokens, rel=0.01)
    assert line["share_of_peak"] == pytest.approx(line["flops_per_second"] / 1e9, abs=1e-4)
    assert [path.parent.name for path in tmp_path.glob("events/*/*")] == ["train"]
