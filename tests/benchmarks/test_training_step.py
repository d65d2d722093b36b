"""The figures of a training step, and the same start and batches for everybody."""

import numpy as np
import pytest

from benchmarks import training_step
from benchmarks.workers import starting_point
from benchmarks.workers.contestants import Record
from kbert.config import EncoderConfig

TINY = {
    "vocab_size": 40,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "max_position_embeddings": 16,
}


def test_medians_leave_out_the_warm_up():
    rows = training_step.figures(
        {
            name: Record({}, [{"seconds": s, "cpu_seconds": 2 * s} for s in (9.0, 9.0, *seconds)])
            for name, seconds in (("kbert/float32", (1.0, 2.0, 1.0)), ("floor/float32", (0.5, 0.5)))
        },
        flops=100e9,
    )
    row = rows["kbert/float32"]
    assert (row["seconds"], row["fastest"], row["slowest"], row["cpu_seconds"]) == (1.0, 1.0, 2.0, 2.0)
    assert row["gigaflops_per_second"] == pytest.approx(100)


@pytest.mark.slow
def test_first_weights_are_the_same_in_every_form(tmp_path):
    from kbert.checkpoints.formats import read_checkpoint

    written = starting_point.write_weights(tmp_path, EncoderConfig(**TINY), None, keras_hub=True)
    with np.load(written["weights"]) as arrays:
        weights = dict(arrays)
    read = read_checkpoint(written["hugging_face_folder"])
    assert set(read.tensors) == set(weights)
    assert all(np.array_equal(read.tensors[name].read(), value) for name, value in weights.items())
    preset = read_checkpoint(written["keras_hub_folder"], True)
    assert all(np.array_equal(tensor.read(), weights[name]) for name, tensor in preset.tensors.items())
