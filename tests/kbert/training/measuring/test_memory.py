"""The memory that a step needs, against what was measured."""

import re

import pytest

from kbert.config import EncoderConfig, PretrainingConfig
from kbert.training.measuring.memory import memory_sentence

# (layers, width, batch, length, predictions, settings) -> measured MB, see docs/runs.md
MEASURED = [
    ((2, 128, 32, 128, 20, {}), 572),
    ((4, 256, 32, 128, 20, {}), 1098),
    ((4, 256, 32, 128, 20, {"precision": "bfloat16"}), 869),
    ((4, 256, 32, 128, 20, {"recompute_activations": True}), 678),
    ((4, 256, 8, 128, 20, {"gradient_accumulation_steps": 4}), 772),
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
