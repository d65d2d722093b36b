"""What a training is watched with, from its task, config and plan."""

import re
import time
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import EncoderConfig, PretrainingConfig
from kbert.encoder import BertEncoder
from kbert.runs.metrics_file import MetricsFile, read_metrics
from kbert.runs.run_directory import trained_weights
from kbert.tasks.pretraining import MaskedLM, Pretraining
from kbert.training.measuring import watching
from kbert.training.measuring.step_work import StepWork, memory_sentence, training_flops
from tests.conftest import tiny_encoder_config, tiny_pretraining_config


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
    flops = training_flops(config.encoder, work)
    per_step = line["flops_per_second"] / line["tokens_per_second"]
    assert line["phase"] == 2 and per_step == pytest.approx(flops / work.tokens, rel=0.01)
    assert line["share_of_peak"] == pytest.approx(line["flops_per_second"] / 1e9, abs=1e-4)
    assert [path.parent.name for path in tmp_path.glob("events/*/*")] == (["train"] if installed else [])


def test_the_arithmetic_is_that_of_the_models_own_matrices():
    """Each kernel of a block for each token, the masked-LM head's for each prediction."""
    config = tiny_encoder_config()
    weights = trained_weights(MaskedLM().build_model(BertEncoder(config)))
    sizes = {name: np.prod(v.shape) for name, v in weights.items() if name.endswith("kernel")}
    per_token = sum(size for name, size in sizes.items() if name.startswith("layer_"))
    per_prediction = sizes["masked_lm/transform/kernel"] + config.vocab_size * config.hidden_size
    work = StepWork.of_batch(4, 10, 3)
    attention = 2 * config.num_hidden_layers * 4 * 10 * 10 * config.hidden_size  # scores, sums of values
    assert training_flops(config, work) == 6 * (40 * per_token + 12 * per_prediction + attention)


def test_what_follows_narrow_tables_works_on_each_token():
    work = StepWork.of_batch(4, 10)
    plain, narrow = (tiny_encoder_config(embedding_size=size) for size in (None, 6))
    assert training_flops(narrow, work) - training_flops(plain, work) == 6 * 40 * 6 * narrow.hidden_size


# (layers, width, batch, length, predictions, settings) -> measured MB, see docs/watching.md
MEASURED = [
    ((2, 128, 32, 128, 20, {}), 572),
    ((4, 256, 32, 128, 20, {}), 1098),
    ((4, 256, 32, 128, 20, {"precision": "bfloat16"}), 869),
    ((4, 256, 32, 128, 20, {"recompute_activations": True}), 678),
    ((4, 256, 8, 128, 20, {"gradient_accumulation_steps": 4}), 772),
    ((4, 256, 8, 512, 76, {}), 1256),
    ((4, 512, 16, 128, 20, {}), 1175),
    ((12, 768, 2, 128, 20, {}), 2451),
]


@pytest.mark.parametrize(("shape", "megabytes"), MEASURED)
def test_the_estimate_of_memory_is_near_what_was_measured(shape, megabytes):
    layers, width, batch_size, seq_length, predictions, settings = shape
    encoder = EncoderConfig(
        num_hidden_layers=layers,
        hidden_size=width,
        num_attention_heads=width // 64,
        intermediate_size=4 * width,
    )
    sentence = memory_sentence(
        PretrainingConfig(encoder=encoder, **settings), batch_size, seq_length, predictions
    )
    number, unit = re.match(r"memory: about ([\d.]+) (MiB|GiB) for", sentence).groups()
    assert float(number) * (2**20 if unit == "MiB" else 2**30) / 1e6 == pytest.approx(megabytes, rel=0.2)


def test_the_largest_batch_of_all_phases_is_told(caplog):
    config = PretrainingConfig(encoder=tiny_encoder_config(), train_batch_size=256)
    second = PretrainingConfig(
        encoder=tiny_encoder_config(), train_batch_size=128, gradient_accumulation_steps=4
    )
    records = [{"max_seq_length": length, "max_predictions_per_seq": 20} for length in (128, 512)]
    details = {"max_seq_length": 512, "records_of_phases": [{"records": one} for one in records]}
    with caplog.at_level("INFO", logger="absl"):
        watching.log_memory(MaskedLM(), config, plan_of(config, second), details, num_replicas=2)
        packed = PretrainingConfig(encoder=tiny_encoder_config(), padding="pack", packed_rows=32)
        watching.log_memory(Pretraining(), packed, plan_of(packed), {"max_seq_length": 128}, num_replicas=1)
    assert "for 128 x 128 tokens on a device" in caplog.text and "for 32 x 128 tokens" in caplog.text
