"""Script: records -> a page of statistics beside them, to open in a browser.

    kbert draw-records --input_dir=records

The tools that write records also write the page; this script is for records that have none. Where
statistics.json is missing, all records are read and counted.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from absl import flags

from kbert.cli import script
from kbert.cli.progress import Progress
from kbert.files.json_file import read_json_object
from kbert.manifest import Manifest, read_manifest
from kbert.tokenization.vocabulary_files import read_vocabulary

if TYPE_CHECKING:
    from tfrecords_tools.records.record_statistics import RecordStatistics

_RECORDS_AT_ONCE = 2048


def count_records(input_dir: str | Path, manifest: Manifest) -> "RecordStatistics":
    """Reads all records of a folder and counts what they hold."""
    from tfrecords_tools.records.record_statistics import RecordStatistics
    from tfrecords_tools.records.stored_records import read_batches

    statistics = RecordStatistics(manifest.features, read_vocabulary(input_dir, manifest.vocabulary))
    progress = Progress("Counted", "examples", manifest.num_examples)
    for batch in read_batches(input_dir, manifest, _RECORDS_AT_ONCE):
        statistics.update(batch)
        progress.report(int(statistics.counts["records"][0]))
    progress.report_end()
    return statistics


def draw_statistics(input_dir: str | Path, recount: bool = False) -> Path:
    """Writes the page of a folder of records, and statistics.json where it is missing.

    Args:
      input_dir: the folder.
      recount: count the records even if statistics.json is there.

    Returns:
      The path of the page.

    Raises:
      ValueError: when the folder holds no finished set of records, or files that contradict one another.
    """
    # Late: they bring NumPy along, which --help and a wrong flag do not need.
    from tfrecords_tools.records.record_statistics import PAGE_FILE_NAME, STATISTICS_FILE_NAME
    from tfrecords_tools.records.statistics_page import write_page, write_statistics

    manifest = read_manifest(input_dir)
    counted = Path(input_dir) / STATISTICS_FILE_NAME
    if recount or not counted.is_file():
        write_statistics(input_dir, manifest, count_records(input_dir, manifest))
    else:
        values = _read_statistics(counted, manifest)
        from jinja2 import UndefinedError

        try:
            write_page(input_dir, manifest, values)
        except (UndefinedError, KeyError, TypeError, AttributeError, IndexError, ZeroDivisionError) as error:
            raise ValueError(f"{counted} is broken ({error!r}); count again with --recount.") from None
    return Path(input_dir) / PAGE_FILE_NAME


def _read_statistics(path, manifest):
    try:
        values = read_json_object(path)
        num_records = values["records"]
    except (ValueError, KeyError) as error:
        raise ValueError(f"{path} is broken ({error}); count again with --recount.") from None
    if num_records != manifest.num_examples:
        raise ValueError(
            f"{path} counts {num_records:,} records, but the manifest names {manifest.num_examples:,}; count "
            "again with --recount."
        )
    return values


def define_flags():
    """Defined on demand, so that a test may import several scripts that share the names of flags."""
    flags.DEFINE_string("input_dir", None, "A folder of records with its manifest.json.")
    flags.DEFINE_bool("recount", False, "Read and count the records even if statistics.json is there.")
    flags.mark_flag_as_required("input_dir")


def main():
    print(f"Statistics written to {draw_statistics(flags.FLAGS.input_dir, flags.FLAGS.recount)}.")


if __name__ == "__main__":
    define_flags()
    script.run(main)
