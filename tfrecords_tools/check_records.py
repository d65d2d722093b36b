"""Script: checks every byte of a set of records, and lists what is damaged.

    kbert check-records --input_dir=records

Checks size and SHA-256 of each file against the manifest, and vocab.txt against the fingerprint. In a file
that is not what was written, it looks for the first record that cannot be read. Exit code 1 when anything is
wrong. Whole records are checked without TensorFlow, about as fast as the disk delivers.
"""

import time
from pathlib import Path

from absl import flags

from kbert.cli import script
from kbert.input_pipelines.records.record_files import wrong_shards
from kbert.manifest import read_manifest
from kbert.tokenization.vocabulary_files import read_vocabulary

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
    start = time.monotonic()
    num_problems = 0
    for problem in (*_vocabulary_problems(input_dir, manifest), *wrong_shards(input_dir, manifest)):
        print(problem)
        num_problems += 1
    num_bytes = sum((Path(input_dir) / shard.file).stat().st_size for shard in manifest.shards)
    verdict = f"{num_problems} problems: make the records again" if num_problems else "all whole"
    print(
        f"{input_dir}: {manifest.num_examples:,} records in {len(manifest.shards)} shards, {verdict} "
        f"({num_bytes / 1e6:,.1f} MB in {time.monotonic() - start:.1f} s)"
    )
    return num_problems


def _vocabulary_problems(input_dir, manifest):
    try:
        read_vocabulary(input_dir, manifest.vocabulary)
    except ValueError as error:
        yield str(error)


def main():
    return 1 if check_records(FLAGS.input_dir) else 0


if __name__ == "__main__":
    define_flags()
    script.run(main)
