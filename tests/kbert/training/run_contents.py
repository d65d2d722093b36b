"""Compares the contents of two runs, and sends a signal at a chosen step."""

import os
import signal

from safetensors.numpy import load_file

from kbert.runs.metrics_file import CLOCK_FIELDS, read_metrics
from kbert.training.training_state import TrainingState


def numbers(run) -> list[dict]:
    """metrics.jsonl without the fields that depend on the clock."""
    return [
        {name: value for name, value in line.items() if name not in CLOCK_FIELDS}
        for line in read_metrics(run.metrics_file)
    ]


def assert_same_runs(one, other):
    """The same numbers in metrics.jsonl and, byte for byte, the same weights and moments at the end."""
    assert numbers(one) == numbers(other)
    first, second = one.checkpoint("last"), other.checkpoint("last")
    assert first.name == second.name
    for file in ("model.safetensors", "optimizer.safetensors"):
        assert (first / file).read_bytes() == (second / file).read_bytes(), file


def tensors(run) -> dict:
    """Weights and moments of the newest checkpoint, by name."""
    folder = run.checkpoint("last")
    return load_file(folder / "model.safetensors") | load_file(folder / "optimizer.safetensors")


def signal_after_call(patch, step):
    """A SIGTERM arrives during the call that reaches `step`."""
    advance = TrainingState.advance

    def advance_and_signal(self, steps, sums):
        advance(self, steps, sums)
        if self.step >= step:
            os.kill(os.getpid(), signal.SIGTERM)

    patch.setattr(TrainingState, "advance", advance_and_signal)
