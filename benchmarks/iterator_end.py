r"""Benchmark: how long the end of a tf.data iterator takes, with tf.data's tuner and without it.

  python -m benchmarks.iterator_end

Every iterator is of the training batches that fine-tuning reads (kbert/input_pipelines/text_reader.py): a few
batches are read, the iterator is held for --seconds, and its deletion is timed. Several are held at a time,
each by a thread of its own, so that 80 of them do not take 80 times --seconds. A deletion that waits for the
tuner uses no processor, so other work on the machine changes little. The tuner looks ever more seldom, at
last once a minute, so with a larger --seconds a deletion may wait longer. The last column is how fast a
single iterator gives batches, the median of --rounds in turns; that does depend on the machine.

kbert/input_pipelines/without_autotune.py turns the tuner off, and says why.
"""

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

from absl import flags

from benchmarks.figures import closing_line
from kbert import command_line

FLAGS = flags.FLAGS

_BATCH_SIZE, _READ, _ROWS, _LENGTH = 32, 5, 2048, 128
_SLOW = 1.0  # seconds
_WARM_UP_BATCHES = 50


def define_flags():
    flags.DEFINE_integer("iterators", 40, "Iterators with the tuner, and as many without.", lower_bound=1)
    flags.DEFINE_float("seconds", 6.0, "How long each is held before it is deleted.", lower_bound=0.0)
    flags.DEFINE_integer("at_a_time", 8, "How many are held at a time.", lower_bound=1)
    flags.DEFINE_integer("batches", 5000, "Batches of each timed reading.", lower_bound=1)
    flags.DEFINE_integer("rounds", 3, "Timed readings of each side.", lower_bound=1)


def datasets() -> dict:
    """name -> `tf.data.Dataset` of endless training batches of made-up texts of 8 to 128 pieces."""
    import numpy as np
    import tensorflow as tf

    from kbert.input_pipelines import text_reader

    generator = np.random.default_rng(1)
    lengths = generator.integers(8, _LENGTH, size=(_ROWS, 1), endpoint=True)
    mask = (np.arange(_LENGTH) < lengths).astype(np.int32)
    ids = generator.integers(1000, 30000, size=mask.shape, dtype=np.int32) * mask
    features = {"input_ids": ids, "input_mask": mask, "segment_ids": np.zeros_like(ids)}
    features["label_ids"] = generator.integers(0, 2, size=_ROWS, dtype=np.int32)
    without = text_reader.training_batches(features, _BATCH_SIZE, 1, 0, pad_to_longest=True)
    options = tf.data.Options()
    options.autotune.enabled = True  # of two options that differ, the later one counts
    return {"with the tuner": without.with_options(options), "without it": without}


def seconds_to_delete(dataset, hold: float) -> float:
    """Makes an iterator, reads a few batches, holds it for `hold` seconds, and times its deletion."""
    iterator = iter(dataset)
    for _ in range(_READ):
        next(iterator)
    time.sleep(hold)
    start = time.perf_counter()
    del iterator
    return time.perf_counter() - start


def batches_a_second(dataset, number: int) -> float:
    """The speed of one iterator, after its first batches."""
    iterator = iter(dataset)
    for _ in range(_WARM_UP_BATCHES):
        next(iterator)
    start = time.perf_counter()
    for _ in range(number):
        next(iterator)
    return number / (time.perf_counter() - start)


def figures(deletions: list[float], speeds: list[float]) -> dict:
    """The numbers of a row of the table."""
    return {
        "iterators": len(deletions),
        "median_seconds": statistics.median(deletions),
        "slowest_seconds": max(deletions),
        "over_one_second": sum(one > _SLOW for one in deletions),
        "batches_per_second": statistics.median(speeds),
    }


def table(rows: dict[str, dict], hold: float) -> str:
    """The rows as Markdown; `hold` is how long the iterators were held, in seconds."""
    number = next(iter(rows.values()))["iterators"]
    lines = [
        f"| {number} iterators, deleted after {hold:g} s | median s | slowest s | "
        f"over {_SLOW:g} s | batches of {_BATCH_SIZE} a second |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, row in rows.items():
        lines.append(
            f"| {name} | {row['median_seconds']:.3f} | {row['slowest_seconds']:.2f} | "
            f"{row['over_one_second']} | {row['batches_per_second']:,.0f} |"
        )
    return "\n".join(lines)


def main(argv):
    del argv
    sides = datasets()
    speeds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(FLAGS.rounds):
        for name, dataset in sides.items():
            speeds[name].append(batches_a_second(dataset, FLAGS.batches))
    rows = {}
    for name, dataset in sides.items():
        with ThreadPoolExecutor(FLAGS.at_a_time) as pool:
            held = [pool.submit(seconds_to_delete, dataset, FLAGS.seconds) for _ in range(FLAGS.iterators)]
            rows[name] = figures([one.result() for one in held], speeds[name])
    print(table(rows, FLAGS.seconds))
    closing_line.close("iterator_end", {"results": rows})


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
