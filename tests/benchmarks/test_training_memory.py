"""The memory of a step is measured in a process of its own."""

import dataclasses

import pytest

from benchmarks import training_memory
from kbert.config import EncoderConfig

ENCODER = EncoderConfig(
    vocab_size=100, hidden_size=64, num_hidden_layers=1, num_attention_heads=1, intermediate_size=64
)
SETTINGS = training_memory._DEFAULTS | {
    "threads": 1,
    "batch_size": 4,
    "seq_length": 16,
    "predictions": 2,
    "encoder": dataclasses.asdict(ENCODER),
}


@pytest.mark.slow
@pytest.mark.long
def test_a_larger_batch_needs_more():
    small = training_memory.measured_bytes(SETTINGS)
    large = training_memory.measured_bytes(SETTINGS | {"batch_size": 512, "seq_length": 128})
    assert 0 < small < 1e9
    # Two attention matrices of 512 x 128 x 128 and eight vectors of 64 for 65,536 tokens, in float32.
    assert large - small > 2 * 512 * 128 * 128 * 4 + 8 * 65_536 * 64 * 4


@pytest.mark.slow
@pytest.mark.long
def test_a_process_that_fails_says_why():
    with pytest.raises(ValueError, match=r"a process ended with 1: (?s:.)*KeyError: 'precision'"):
        training_memory.measured_bytes({name: SETTINGS[name] for name in ("threads", "encoder")})


def test_a_device_works_on_one_part_of_a_batch():
    shape = training_memory.shape_of(SETTINGS | {"parts": 2})
    assert (shape.batch_size, shape.accumulates) == (2, True)
    assert not training_memory.shape_of(SETTINGS).accumulates
