"""The memory that a step needs, against what was measured."""

import re
from types import SimpleNamespace

import pytest

from kbert.config import EncoderConfig, PretrainingConfig
from kbert.tasks.pretraining import MaskedLM, Pretraining
from kbert.training.measuring.memory import log_memory, memory_sentence
from tests.conftest import tiny_encoder_config

# (layers, width, batch, length, predictions, settings) -> measured MB, see docs/runs.md
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
    gibibytes = float(re.match(r"memory: about ([\d.]+) GiB for", sentence)[1])
    assert gibibytes * 2**30 / 1e6 == pytest.approx(megabytes, rel=0.2)


def plan_of(*configs):
    return SimpleNamespace(phases=[SimpleNamespace(config=config) for config in configs])


def test_the_largest_batch_of_all_phases_is_told(caplog):
    config = PretrainingConfig(encoder=tiny_encoder_config(), train_batch_size=256)
    second = PretrainingConfig(
        encoder=tiny_encoder_config(), train_batch_size=128, gradient_accumulation_steps=4
    )
    records = [{"max_seq_length": length, "max_predictions_per_seq": 20} for length in (128, 512)]
    details = {"max_seq_length": 512, "records_of_phases": [{"records": phase} for phase in records]}
    with caplog.at_level("INFO", logger="absl"):
        log_memory(MaskedLM(), config, plan_of(config, second), details, num_replicas=2)
        packed = PretrainingConfig(encoder=tiny_encoder_config(), padding="pack", packed_rows=32)
        log_memory(Pretraining(), packed, plan_of(packed), {"max_seq_length": 128}, num_replicas=1)
    assert "for 128 x 128 tokens on a device" in caplog.text and "for 32 x 128 tokens" in caplog.text
