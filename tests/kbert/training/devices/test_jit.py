"""When XLA compiles, and that it can: the whole step, as a TPU needs it."""

import re

import pytest
import tensorflow as tf

from kbert.config import OPTIMIZERS, PRECISIONS, PretrainingConfig
from kbert.training.devices import jit
from kbert.training.devices.jit import needs_whole_batches, resolve_jit
from tests.conftest import tiny_finetuning_config, tiny_pretraining_config
from tests.kbert.training.small_training import SmallTraining, random_batches


class OneReplica:
    num_replicas_in_sync = 1


FIXED, VARYING = tiny_pretraining_config(), tiny_finetuning_config(pad_to_longest=True)


@pytest.mark.parametrize(
    ("device", "config", "expected"),
    [
        ("CPU", FIXED, False),
        ("GPU", FIXED, True),
        ("TPU", FIXED, True),
        ("GPU", VARYING, False),
        ("GPU", tiny_finetuning_config(pad_to_longest=False), True),
        ("CPU", tiny_pretraining_config(jit_compile=True), True),
        ("GPU", tiny_pretraining_config(jit_compile=False), False),
    ],
)
def test_xla_goes_by_device_shapes_and_config(monkeypatch, device, config, expected):
    monkeypatch.setattr(jit, "device_type", lambda strategy: device)
    assert resolve_jit(config, OneReplica()) is expected
    assert needs_whole_batches(config, OneReplica()) is expected


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (VARYING, "a TPU needs batches of one shape: set pad_to_longest=false, and set "),
        (tiny_pretraining_config(jit_compile=False), "a TPU runs compiled steps only"),
    ],
)
def test_a_tpu_takes_nothing_but_compiled_steps_of_one_shape(monkeypatch, config, sentence):
    monkeypatch.setattr(jit, "device_type", lambda strategy: "TPU")
    with pytest.raises(ValueError, match=sentence):
        resolve_jit(config, OneReplica())


def compiled_step(**arguments):
    """The whole step of pretraining as XLA is given it: fails where an operation is not one of XLA's."""
    batches = random_batches(1, batch_size=8)
    training = SmallTraining(batches, jit_compile=True, **arguments)
    batch = {name: tf.constant(values[0]) for name, values in batches.items()}
    step = training.step._whole_step
    program = step.experimental_get_compiler_ir(batch, tf.constant(0, tf.int64), tf.constant(0))
    return training, program(stage="hlo")


REST = (pytest.mark.slow, pytest.mark.exhaustive)
FASTEST_CASE = ("adamw", "float16")


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize(
    ("optimizer_name", "precision"),
    [
        pytest.param(name, precision, marks=() if (name, precision) == FASTEST_CASE else REST)
        for name in OPTIMIZERS
        for precision in PRECISIONS
    ],
)
def test_the_whole_step_is_one_program_without_the_host(optimizer_name, precision):
    """Dropout, forward, backward, clipping, update and metrics; two micro-batches in float16."""
    training, program = compiled_step(
        optimizer_name=optimizer_name,
        dtype=PretrainingConfig(precision=precision).dtype_policy,
        gradient_accumulation_steps=2 if precision == "float16" else 1,
    )
    assert not re.search(r"\b(custom-call|infeed|outfeed|send|recv)\(", program)
    assert "<=" not in program  # no dimension that is only bounded
    # Weights, moments, scale and the generators of dropout leave it changed.
    changed = training.snapshot()
    returned = re.search(r"entry_computation_layout=\{.*->\((.*)\)\}", program.splitlines()[0])[1]
    shapes = re.findall(r"\w+\[([\d,]*)\]", returned)
    for value in changed.values():
        shapes.remove(",".join(str(size) for size in value.shape))
