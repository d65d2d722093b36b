r"""Benchmark: what a second core brings to a pretraining step, as a thread, a replica or a worker.

  python -m benchmarks.scaling
  python -m benchmarks.scaling --encoder=bert_small --precision=bfloat16

Four contestants take turns: one process on one core; one process with two threads; `mirrored`, two logical
CPU devices in one process on both cores; `multi_worker`, two processes on a core each that meet by TF_CONFIG.
Strong scaling keeps the global batch, weak scaling doubles it with the cores. Efficiency is the examples a
second, over twice those of the process on one core.
"""

import dataclasses
import os
import statistics
import sys
from contextlib import ExitStack

from absl import flags

from benchmarks.report import close, machine, markdown
from benchmarks.workers.contestants import Contestant, Record, alternate
from benchmarks.workers.worker_group import WorkerGroup
from kbert.cli import script
from kbert.config import PRECISIONS, EncoderConfig, encoder_presets, from_dict

FLAGS = flags.FLAGS
CORES = 2
SEQ_LENGTH, PREDICTIONS = 128, 20
_COMMAND = [sys.executable, "-m", "benchmarks.workers.kbert_replicas"]
# Name, strategy, cores; the first is what the others are compared with.
PLANS = (
    ("one process, one core", "one_device", 1),
    ("one process, two threads", "one_device", CORES),
    ("mirrored, two devices", "mirrored", CORES),
    ("multi_worker, two processes", "multi_worker", CORES),
)


def define_flags():
    flags.DEFINE_enum("encoder", "bert_mini", encoder_presets(), "The encoder.")
    flags.DEFINE_integer("batch_size", 32, "Global batch of strong scaling; even.", lower_bound=2)
    flags.DEFINE_enum("precision", "float32", PRECISIONS, "Of the arithmetic.")
    flags.DEFINE_integer("rounds", 4, "Timed turns of every contestant.", lower_bound=1)


def main():
    cores = len(os.sched_getaffinity(0))
    if cores < CORES:
        raise ValueError(f"this benchmark needs {CORES} cores, but its process may use only {cores}.")
    if FLAGS.batch_size % CORES:
        raise ValueError(f"--batch_size={FLAGS.batch_size} must be a multiple of {CORES}, of the replicas.")
    print(machine(), flush=True)
    print(f"{FLAGS.encoder}, {SEQ_LENGTH} tokens, {FLAGS.precision}", flush=True)
    rows = {}
    for (name, strategy, cores), record in zip(PLANS, measure(), strict=True):
        rows |= figures(name, strategy, batch_sizes(cores, FLAGS.batch_size), cores, record)
    add_efficiency(rows)
    print(table(rows))
    close("scaling", rows)


def batch_sizes(cores: int, batch_size: int) -> list[int]:
    """The global batches that a contestant trains with, a step each in turn."""
    return [batch_size] if cores == 1 else [batch_size, CORES * batch_size]


def measure() -> list[Record]:
    """The record of every contestant, after a first step of each batch size that does not count."""
    encoder = dataclasses.asdict(from_dict(EncoderConfig, {"preset": FLAGS.encoder}))
    settings = {
        "encoder": encoder,
        "seq_length": SEQ_LENGTH,
        "predictions": PREDICTIONS,
        "precision": FLAGS.precision,
    }
    with ExitStack() as stack:
        workers = [start(*plan, settings, stack) for plan in PLANS]
        alternate(workers, 1 + FLAGS.rounds, 2)  # in its first round each batch size is traced
        records = [worker.record for worker in workers]
        return [dataclasses.replace(record, steps=record.steps[2:]) for record in records]


def start(name, strategy, cores, settings, stack):
    """A contestant, ready."""
    settings = settings | {"batch_sizes": batch_sizes(cores, FLAGS.batch_size), "strategy": strategy}
    if strategy == "multi_worker":
        worker = WorkerGroup(name, _COMMAND, settings | {"num_devices": None}, cores)
    else:
        devices = cores if strategy == "mirrored" else None
        worker = Contestant(name, _COMMAND, settings | {"num_devices": devices}, cores)
    stack.callback(worker.close)
    return worker


def figures(name: str, strategy: str, sizes: list[int], cores: int, record: Record) -> dict:
    """ "mirrored, two devices/64" -> what it reached."""
    rows = {}
    for batch_size in sizes:
        steps = [step for step in record.steps if step["batch_size"] == batch_size]
        seconds = sorted(step["seconds"] for step in steps)
        median = statistics.median(seconds)
        rows[f"{name}/{batch_size}"] = {
            "cores": cores,
            "gradient_bytes": 0 if strategy == "one_device" else 4 * record.facts["parameters"],
            "seconds": median,
            "fastest": seconds[0],
            "slowest": seconds[-1],
            "cpu_seconds": statistics.median(step["cpu_seconds"] for step in steps),
            "examples_per_second": batch_size / median,
        }
    return rows


def add_efficiency(rows: dict):
    """The examples a second, over those of as many single cores: of the first row."""
    alone = next(iter(rows.values()))["examples_per_second"]
    for row in rows.values():
        row["efficiency"] = row["examples_per_second"] / (row["cores"] * alone)


def table(rows: dict) -> str:
    heads = ["", "MB all-reduced", "s/step", "fastest to slowest", "CPU s", "examples/s", "efficiency"]
    return markdown(
        heads,
        [
            [
                name,
                f"{row['gradient_bytes'] / 1e6:.1f}",
                f"{row['seconds']:.3f}",
                f"{row['fastest']:.3f} to {row['slowest']:.3f}",
                f"{row['cpu_seconds']:.2f}",
                f"{row['examples_per_second']:.1f}",
                f"{row['efficiency']:.0%}",
            ]
            for name, row in rows.items()
        ],
    )


if __name__ == "__main__":
    define_flags()
    script.run(main)
