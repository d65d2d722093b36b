r"""Benchmark: the memory of a pretraining step on CPUs, beside the estimate before it starts.

  python -m benchmarks.training_memory

Each row is a process of its own that takes three steps with random ids. Its peak is the highest resident
memory of the second and third step, less what the process had after loading TensorFlow. Linux only.
"""

import dataclasses
import json
import os
import subprocess
import sys

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.figures import closing_line
from benchmarks.figures.machine import processor
from kbert import command_line
from kbert.config import EncoderConfig
from kbert.training.measuring.memory_estimate import TrainingShape, estimate_memory
from kbert.training.measuring.training_flops import Heads

FLAGS = flags.FLAGS

HEADS = Heads(masked_lm=True, pooled_labels=2)
# Layers, width, batch, length, predictions; and what is not the default.
ROWS = (
    (2, 128, 32, 128, 5, {}),
    (2, 128, 32, 128, 20, {}),
    (2, 128, 128, 128, 20, {}),
    (4, 256, 8, 128, 20, {}),
    (4, 256, 32, 128, 20, {}),
    (4, 256, 32, 128, 20, {"precision": "mixed_bfloat16"}),
    (4, 256, 32, 128, 20, {"recompute": True}),
    (4, 256, 32, 128, 20, {"parts": 4}),
    (4, 256, 8, 512, 76, {}),
    (4, 256, 8, 512, 76, {"recompute": True}),
    (4, 512, 4, 128, 20, {}),
    (4, 512, 16, 128, 20, {}),
    (4, 512, 16, 128, 20, {"precision": "mixed_bfloat16"}),
    (4, 512, 16, 128, 20, {"parts": 4}),
    (12, 768, 2, 128, 20, {}),
    (12, 768, 8, 128, 20, {"precision": "mixed_bfloat16"}),
    (4, 256, 32, 128, 20, {"compile": True}),
)
_DEFAULTS = {"precision": "float32", "recompute": False, "parts": 1, "compile": False}


def define_flags():
    flags.DEFINE_integer("threads", 2, "Threads of each process.", lower_bound=1)


def main(argv):
    del argv
    print(processor(), flush=True)
    print("| layers x width | batch x length, predictions | | measured | estimated | ratio |")
    print("|---|---|---|---:|---:|---:|", flush=True)
    found = []
    for layers, width, batch_size, seq_length, predictions, changes in ROWS:
        settings = _DEFAULTS | {"threads": FLAGS.threads} | changes
        settings |= {"batch_size": batch_size, "seq_length": seq_length, "predictions": predictions}
        encoder = EncoderConfig(
            num_hidden_layers=layers,
            hidden_size=width,
            num_attention_heads=width // 64,
            intermediate_size=4 * width,
        )
        measured = measured_bytes(settings | {"encoder": dataclasses.asdict(encoder)})
        estimated = estimate_memory(encoder, shape_of(settings)).total
        what = ", ".join(f"{name}={value}" for name, value in changes.items()) or "float32"
        print(
            f"| {layers} x {width} | {batch_size} x {seq_length}, {predictions} | {what} | "
            f"{measured / 1e6:,.0f} | {estimated / 1e6:,.0f} | {estimated / measured:.2f} |",
            flush=True,
        )
        facts = {"layers": layers, "width": width} | settings
        found.append(facts | {"measured_bytes": measured, "estimated_bytes": estimated})
    closing_line.close("training_memory", {"results": found})


def shape_of(settings) -> TrainingShape:
    """What the estimate needs to know; a device works on one part of a batch at a time."""
    parts = settings["parts"]
    return TrainingShape(
        settings["batch_size"] // parts,
        settings["seq_length"],
        settings["predictions"],
        HEADS,
        settings["precision"],
        settings["recompute"],
        accumulates=parts > 1,
    )


def measured_bytes(settings) -> int:
    """The peak of a process of its own.

    Raises:
      ValueError: when it fails, with the end of what it said.
    """
    command = [sys.executable, "-m", "benchmarks.workers.kbert_memory", json.dumps(settings)]
    mine = sorted(os.sched_getaffinity(0))[: settings["threads"]]
    ended = subprocess.run(
        command,
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, mine),
    )
    if ended.returncode:
        raise ValueError(f"a process ended with {ended.returncode}: {ended.stderr[-2000:]}")
    return int(ended.stdout.split()[-1])


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
