"""Script: prints a few records as text, with masked positions marked and labels beside them.

    kbert show-records --input_dir=records --num_records=3
    kbert show-records --input_dir=records --record=1234
    kbert show-records --input_dir=records --shard=2
    kbert show-records --input_dir=records --check

What is to predict is written [shown->label]: [MASK->word] is masked, [other->word] is replaced by a random
token, [word->word] is unchanged. The second text of a pair begins a new line with "+".

--check prints no records. It compares size and SHA-256 of each file with the manifest, and vocab.txt with its
fingerprint. In a file that has changed, it looks for the first record that cannot be read. In whole
files it looks for the first number out of its range, as an id beyond the vocabulary is. Exit code 1 when
anything is wrong.
"""

import itertools
from pathlib import Path
from typing import Annotated

from absl import flags

from kbert.bounds import Bounds
from kbert.checks import with_checked_arguments
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.features import PRETRAINING_RECORDS
from kbert.manifest import read_manifest
from kbert.tokenization.vocabulary_files import read_vocabulary
from tfrecords_tools.records import record_text, stored_records
from tfrecords_tools.records.check_records import check_records

_MASKS_LEGEND = (
    "Positions to predict: [shown->label]. [MASK->word] is masked, [other->word] replaced, [word->word] kept."
)
_NO_MASKS_LEGEND = "Nothing is masked in these records: masks are drawn anew whenever they are read."


@with_checked_arguments
def show_records(
    input_dir: str | Path,
    num_records: Annotated[int, Bounds(1)] | None = None,
    record: Annotated[int, Bounds(0)] | None = None,
    shard: Annotated[int, Bounds(0)] | None = None,
):
    """Prints some records of a folder, after the manifest's statistics of all records.

    Args:
      input_dir: a folder of records with its manifest.json.
      num_records: how many to print; by default 3, or 1 with `record`.
      record: the number of the first one to print, from 0, in the whole set or in the `shard`.
      shard: the number of the shard to begin with, from 0.

    Raises:
      ValueError: when the folder holds no finished set of records, a damaged one, or no such record.
    """
    if num_records is None:
        num_records = 3 if record is None else 1
    manifest = read_manifest(input_dir)
    start = _first_record(input_dir, manifest, record, shard)
    vocabulary = read_vocabulary(input_dir, manifest.vocabulary)
    print(f"{manifest.num_examples:,} {manifest.kind} examples in {len(manifest.shards)} shards.")
    for name, value in manifest.statistics.items():
        print(f"  {name}: {value}")
    if "masked_lm_ids" in manifest.features:
        print(_MASKS_LEGEND)
    elif manifest.kind == PRETRAINING_RECORDS:
        print(_NO_MASKS_LEGEND)
    for number, example in enumerate(
        itertools.islice(stored_records.read_records(input_dir, manifest, start), num_records), start
    ):
        print(f"\nrecord {number}: {record_text.describe_record(example, vocabulary, manifest.settings)}")


def _first_record(input_dir, manifest, record, shard):
    """The number of the first record to show, in the whole set."""
    start, available, where = 0, manifest.num_examples, str(input_dir)
    if shard is not None:
        if not 0 <= shard < len(manifest.shards):
            raise ValueError(
                f"there is no shard {shard} in {input_dir}; it has {len(manifest.shards)}, numbered from 0."
            )
        start = sum(other.num_examples for other in manifest.shards[:shard])
        available = manifest.shards[shard].num_examples
        where = f"shard {shard} of {input_dir}"
    if record is None and shard is None:
        return start
    record = record or 0
    if not 0 <= record < available:
        raise ValueError(f"there is no record {record} in {where}; it has {available:,}, numbered from 0.")
    return start + record


def define_flags():
    declare_flags(show_records)
    flags.DEFINE_bool(
        "check",
        False,
        "Read every shard, and name those that are damaged and the first wrong record.",
    )


def main():
    arguments = flag_values(show_records)
    if flags.FLAGS.check:
        selection = ("num_records", "record", "shard")
        if unread := [f"--{name}" for name in selection if arguments[name] is not None]:
            raise ValueError(f"--check reads every record; leave out {', '.join(unread)}.")
        return 1 if check_records(arguments["input_dir"]) else 0
    show_records(**arguments)
    return 0


if __name__ == "__main__":
    define_flags()
    script.run(main)
