r"""Benchmark: what a second core brings to a pretraining step, as a thread, a replica or a worker.

  python -m benchmarks.scaling
  python -m benchmarks.scaling --encoder=bert_small --precision=mixed_bfloat16

Four contestants take turns: one process on one core; one process with two threads; `mirrored`, two logical
CPU devices in one process on both cores; `multi_worker`, two processes on a core each that meet by TF_CONFIG.
Strong scaling keeps the global batch, weak scaling doubles it with the cores. Replicas sum their gradients in
float32 and in bfloat16 (`all_reduce_dtype`). Efficiency is the examples a second, over twice those of the
process on one core.
"""

import dataclasses
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from absl import flags

from benchmarks import REPOSITORY
from benchmarks.replicas import report
from benchmarks.replicas.worker_group import WorkerGroup
from benchmarks.report import close, machine
from benchmarks.workers.contestants import Contestant, alternate
from kbert import command_line
from kbert.config import PRECISIONS, EncoderConfig, encoder_presets, from_dict

FLAGS = flags.FLAGS
CORES = 2
_SUMMED_IN = ("float32", "bfloat16")  # the dtypes of the all-reduce
_COMMAND = [sys.executable, "-m", "benchmarks.workers.kbert_replicas"]


def define_flags():
    flags.DEFINE_enum("encoder", "bert_mini", encoder_presets(), "The encoder.")
    flags.DEFINE_integer("batch_size", 32, "Global batch of strong scaling; even.", lower_bound=2)
    flags.DEFINE_integer("seq_length", 128, "Tokens of an example.", lower_bound=8)
    flags.DEFINE_integer("predictions", 20, "Masked tokens of an example.", lower_bound=1)
    flags.DEFINE_enum("precision", "float32", PRECISIONS, "Of the arithmetic.")
    flags.DEFINE_integer("rounds", 4, "Timed turns of every contestant.", lower_bound=1)


def main(argv):
    del argv
    require_two_cores(FLAGS.batch_size)
    print(machine(), flush=True)
    title = f"{FLAGS.encoder}, {FLAGS.batch_size} x {FLAGS.seq_length}, {FLAGS.precision}"
    print(f"{title}; two cores, medians of {FLAGS.rounds} turns", flush=True)
    rows = measure(shared_settings())
    print(report.table(rows))
    close("scaling", report.figures(rows), shape=title)


def require_two_cores(batch_size):
    cores = len(os.sched_getaffinity(0))
    if cores < CORES:
        raise ValueError(f"this benchmark needs {CORES} cores, but its process may use only {cores}.")
    if batch_size % CORES:
        raise ValueError(f"--batch_size={batch_size} must be a multiple of {CORES}, the number of replicas.")


def shared_settings() -> dict:
    """What all workers have in common.

    Raises:
      ValueError: when the lengths do not fit the encoder.
    """
    encoder = from_dict(EncoderConfig, {"preset": FLAGS.encoder})
    if not FLAGS.predictions < FLAGS.seq_length <= encoder.max_position_embeddings:
        raise ValueError(
            f"--seq_length={FLAGS.seq_length} must lie above --predictions={FLAGS.predictions} and be at "
            f"most {encoder.max_position_embeddings}, the positions of {FLAGS.encoder}."
        )
    return {
        "encoder": dataclasses.asdict(encoder),
        "seq_length": FLAGS.seq_length,
        "predictions": FLAGS.predictions,
        "precision": FLAGS.precision,
        "seed": 1,
    }


def plans(batch_size) -> dict[str, report.Plan]:
    """Contestant -> what it does; strong scaling has the batch of one core, weak scaling twice of it."""
    both = (batch_size, CORES * batch_size)
    return {
        "one process, one core": report.Plan("one_device", 1, (batch_size,), ("float32",)),
        "one process, two threads": report.Plan("one_device", CORES, both, ("float32",)),
        "mirrored, two devices": report.Plan("mirrored", CORES, both, _SUMMED_IN),
        "multi_worker, two processes": report.Plan("multi_worker", CORES, both, _SUMMED_IN),
    }


def measure(settings) -> list[report.Row]:
    """A row for every variant of every contestant; all take turns."""
    planned = plans(FLAGS.batch_size)
    most = max(len(plan.variants()) for plan in planned.values())
    with ExitStack() as stack:
        # Starting, and the first step of each variant, which traces it, are not timed: all at the same time.
        with ThreadPoolExecutor(len(planned)) as pool:
            started = pool.map(lambda name: start(name, planned[name], settings, stack), planned)
            workers = dict(zip(planned, started, strict=True))
            list(pool.map(lambda worker: worker.take_turn(most), workers.values()))
        for name, worker in workers.items():
            print(f"  {name}: {worker.record.facts}", flush=True)
        alternate(list(workers.values()), FLAGS.rounds, most)
        return [
            row
            for name, plan in planned.items()
            for row in report.rows(name, plan, workers[name].record, warm_up=most)
        ]


def start(name, plan, settings, stack):
    """The contestant of a plan, ready."""
    own = settings | {"variants": plan.variants(), "strategy": plan.strategy, "num_devices": None}
    if plan.strategy == "multi_worker":
        worker = WorkerGroup(name, _COMMAND, own, plan.cores, cwd=REPOSITORY)
    else:
        own["num_devices"] = plan.cores if plan.strategy == "mirrored" else None
        worker = Contestant(name, _COMMAND, own, plan.cores, cwd=REPOSITORY)
    stack.callback(worker.close)
    return worker


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
