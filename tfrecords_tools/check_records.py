"""Script: goes through every record of a set, and lists what is damaged.

    python -m tfrecords_tools.check_records --input_dir=records

Checks each record's length and data against their CRCs, the number of records against the manifest, and
vocab.txt against the fingerprint. Exit code 1 when anything is wrong. Without TensorFlow, it reads about as
fast as the disk gives.
"""

import time
from pathlib import Path

from absl import flags

from kbert import command_line
from kbert.input_pipelines import damaged_records
from kbert.input_pipelines.record_vocabulary import read_vocabulary
from kbert.manifest import read_manifest

FLAGS = flags.FLAGS


def define_flags():
    flags.DEFINE_string("input_dir", None, "A folder of records: pretraining or fine-tuning.")
    flags.mark_flags_as_required(["input_dir"])


def check_records(input_dir: str | Path) -> int:
    """Prints a line for every problem of a set of records, then a summary; returns how many there are.

    Raises:
      ValueError: when `input_dir` holds no finished set.
    """
    manifest = read_manifest(input_dir)
    start, num_bytes, num_problems = time.monotonic(), 0, 0
    try:
        read_vocabulary(input_dir, manifest)
    except ValueError as error:
        print(error)
        num_problems += 1
    num_records = 0
    for shard in manifest.shards:
        path = Path(input_dir) / shard.file
        check = damaged_records.check_shard(path)
        for damage in check.damages:
            print(f"{damage} (to byte {damage.end})")
        if check.num_records != shard.num_examples:
            print(
                f"{path} holds {check.num_records} whole records, but its manifest says {shard.num_examples}"
            )
        num_problems += len(check.damages) + (check.num_records != shard.num_examples)
        num_records += check.num_records
        num_bytes += path.stat().st_size
    seconds = time.monotonic() - start
    verdict = "all whole" if not num_problems else f"{num_problems} problems"
    print(
        f"{input_dir}: {num_records:,} of {manifest.num_examples:,} records in {len(manifest.shards)} "
        f"shards, {verdict} ({num_bytes / 1e6:,.1f} MB in {seconds:.1f} s)"
    )
    return num_problems


def main(argv):
    del argv
    return 1 if check_records(FLAGS.input_dir) else 0


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
