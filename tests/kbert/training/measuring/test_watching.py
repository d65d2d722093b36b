"""What a training is watched with, from its task, config and plan."""

import time
from types import SimpleNamespace

import pytest
import tensorflow as tf

from kbert.config import PretrainingConfig
from kbert.runs.metrics_file import MetricsFile, read_metrics
from kbert.tasks.pretraining import MaskedLM, Pretraining
from kbert.training.measuring import watching
from kbert.training.measuring.memory_estimate import TrainingShape
from kbert.training.measuring.training_flops import Heads, StepWork, training_flops
from tests.conftest import tiny_pretraining_config


def plan_of(*configs):
    phases = [SimpleNamespace(config=config, first_step=10 * n) for n, config in enumerate(configs)]
    return SimpleNamespace(phases=phases, num_train_steps=10 * len(phases))


@pytest.mark.parametrize("installed", [True, False])
def test_a_phase_is_watched_with_its_number_its_share_and_event_files(tmp_path, monkeypatch, installed):
    monkeypatch.setattr(watching, "tensorboard_is_installed", lambda: installed)
    config = tiny_pretraining_config(peak_flops=1e9)
    run = SimpleNamespace(path=tmp_path, metrics_file=tmp_path / "metrics.jsonl")
    strategy, plan = tf.distribute.get_strategy(), plan_of(config, config)
    progress = watching.make_progress(
        Pretraining(), config, plan, 1, run, strategy, MetricsFile(run.metrics_file), 10
    )
    work = StepWork.of_batch(8, 24, 3)
    time.sleep(0.05)  # a share above 1 would be left out
    progress.train(12, {"masked_lm_loss": 2.0}, 1e-3, work)
    (line,) = read_metrics(run.metrics_file)
    flops = training_flops(config.encoder, work, Heads(masked_lm=True, pooled_labels=2))
    per_step = line["flops_per_second"] / line["tokens_per_second"]
    assert line["phase"] == 2 and per_step == pytest.approx(flops / work.tokens, rel=0.01)
    assert line["share_of_peak"] == pytest.approx(line["flops_per_second"] / 1e9, rel=0.01)
    assert [path.parent.name for path in tmp_path.glob("events/*/*")] == (["train"] if installed else [])


def test_each_phase_puts_its_part_of_the_batch_on_a_device():
    config = PretrainingConfig(train_batch_size=256, precision="bfloat16", recompute_activations=True)
    second = PretrainingConfig(train_batch_size=128, gradient_accumulation_steps=4)
    details = {
        "max_seq_length": 512,
        "records_of_phases": [
            {"records": {"max_seq_length": 128, "max_predictions_per_seq": 20}},
            {"records": {"max_seq_length": 512, "max_predictions_per_seq": 76}},
        ],
    }
    heads = Heads(masked_lm=True, pooled_labels=0)
    task = MaskedLM()
    assert watching.training_shapes(task, config, plan_of(config, second), details, num_replicas=2) == [
        TrainingShape(128, 128, 20, heads, "bfloat16", recompute=True, accumulates=False),
        TrainingShape(16, 512, 76, heads, "bfloat16", recompute=True, accumulates=True),
    ]


def test_packed_rows_hold_the_predictions_of_more_examples():
    config = PretrainingConfig(train_batch_size=96, padding="pack", packed_rows=32)
    details = {"max_seq_length": 128, "records": {"max_seq_length": 128, "max_predictions_per_seq": 20}}
    (shape,) = watching.training_shapes(Pretraining(), config, plan_of(config), details, num_replicas=1)
    assert (shape.batch_size, shape.predictions) == (32, 60)
