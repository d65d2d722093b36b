"""Checks every byte of a set of records, then every number, and lists what is wrong.

Bytes are checked without TensorFlow, about as fast as the disk delivers.
"""

import itertools
import time
from pathlib import Path

from kbert.cli.progress import activity
from kbert.input_pipelines.records import record_ranges
from kbert.input_pipelines.records.record_files import wrong_shards
from kbert.manifest import read_manifest
from kbert.tokenization.vocabulary_files import read_vocabulary


def check_records(input_dir: str | Path) -> int:
    """Prints a line for every problem of a set of records, then a summary; returns how many there are.

    Raises:
      ValueError: when `input_dir` holds no finished set.
    """
    manifest = read_manifest(input_dir)
    start = time.monotonic()
    problems = [*_vocabulary_problems(input_dir, manifest), *wrong_shards(input_dir, manifest)]
    if not problems:
        with activity(f"looking at every number in {input_dir}"):
            problems += itertools.islice(record_ranges.wrong_records(input_dir, manifest), 1)
    for problem in problems:
        print(problem)
    num_problems = len(problems)
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
