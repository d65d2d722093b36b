"""Script: checks every record of a set, and lists what is damaged.

    kbert check-records --input_dir=records

Checks each record's length and data against their CRCs, the number of records and the bytes of each file
against the manifest, and vocab.txt against the fingerprint. Exit code 1 when anything is wrong. It does not
load TensorFlow, and reads about as fast as the disk delivers.
"""

import time
from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.input_pipelines.records.record_vocabulary import read_vocabulary
from kbert.input_pipelines.records.shard_digests import wrong_bytes
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
    from kbert.input_pipelines.records import damaged_records  # late: it brings NumPy along

    manifest = read_manifest(input_dir)
    start, num_records = time.monotonic(), 0
    num_problems = _told(_problems_of_the_set(input_dir, manifest))
    for shard in manifest.shards:
        check = damaged_records.check_shard(Path(input_dir) / shard.file)
        num_problems += _told(_problems_of(input_dir, shard, check))
        num_records += check.num_records
    seconds = time.monotonic() - start
    num_bytes = sum((Path(input_dir) / shard.file).stat().st_size for shard in manifest.shards)
    verdict = "all whole" if not num_problems else f"{num_problems} problems"
    print(
        f"{input_dir}: {num_records:,} of {manifest.num_examples:,} records in {len(manifest.shards)} "
        f"shards, {verdict} ({num_bytes / 1e6:,.1f} MB in {seconds:.1f} s)"
    )
    return num_problems


def _problems_of(input_dir, shard, check):
    path = Path(input_dir) / shard.file
    for damage in check.damages:
        yield f"{damage} (to byte {damage.end})"
    if check.num_records != shard.num_examples:
        yield f"{path} holds {check.num_records} whole records, but its manifest says {shard.num_examples}"
    elif not check.damages and (wrong := wrong_bytes(input_dir, shard)):
        yield wrong


def _problems_of_the_set(input_dir, manifest):
    try:
        read_vocabulary(input_dir, manifest)
    except ValueError as error:
        yield str(error)


def _told(problems):
    """Prints the problems, and returns how many there are."""
    number = 0
    for problem in problems:
        print(problem)
        number += 1
    return number


def main():
    return 1 if check_records(FLAGS.input_dir) else 0


if __name__ == "__main__":
    define_flags()
    script.run(main)
