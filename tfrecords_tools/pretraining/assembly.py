"""Finished parts -> a folder of records: shards, manifest, vocabulary, statistics."""

import contextlib
import os
import shutil
from pathlib import Path

import numpy as np

from kbert.files.json_file import read_json
from kbert.files.whole_file import replace_folder
from kbert.manifest import VOCABULARY_FILE_NAME, Shard, describe_shards
from tfrecords_tools.pretraining.pretraining_stages import FIRST_EXAMPLES, summary_file
from tfrecords_tools.records.record_statistics import RecordStatistics
from tfrecords_tools.records.record_writer import check_output_dir
from tfrecords_tools.records.statistics_page import write_statistics


def assemble(job, parts, num_parts_of_shard) -> tuple[Path, tuple[Shard, ...], RecordStatistics]:
    """Joins the parts of each shard. A file is one record after another, so the parts' bytes are joined.

    Returns:
      (the folder they are in, the shards, the statistics of all records).
    """
    num_shards, suffix = job.settings.num_shards, job.settings.shard_suffix
    finished = job.path / "finished"
    shutil.rmtree(finished, ignore_errors=True)
    finished.mkdir()
    statistics = RecordStatistics(job.settings.features(), job.vocabulary())
    num_examples_of = {}
    for number in range(num_shards):
        name = f"pretraining-{number:05d}-of-{num_shards:05d}{suffix}"
        num_examples = 0
        of_shard = parts[number * num_parts_of_shard : (number + 1) * num_parts_of_shard]
        for part in of_shard:
            found = read_json(summary_file(job.parts, part.name))
            num_examples += found["examples"]
            with np.load(job.parts / f"{part.name}.npz") as counts:
                statistics.add(counts)
        _join_files([job.parts / f"{part.name}{suffix}" for part in of_shard], finished / name)
        num_examples_of[name] = num_examples
    if (job.parts / FIRST_EXAMPLES).is_file():
        with np.load(job.parts / FIRST_EXAMPLES) as columns:
            rows = zip(*(columns[name] for name in columns), strict=True)
            statistics.examples = [dict(zip(columns, row, strict=True)) for row in rows]
    return finished, describe_shards(finished, num_examples_of), statistics


def _join_files(paths, target):
    if len(paths) == 1:
        with contextlib.suppress(OSError):  # a file system without links: copied below
            os.link(paths[0], target)
            return
    with open(target, "wb") as joined:
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, joined, 1 << 20)


def finish(job, finished, output_dir, manifest, statistics, overwrite):
    """Completes the folder of finished records, renames it to `output_dir`, and deletes the work folder."""
    job.vocabulary().write(finished / VOCABULARY_FILE_NAME)
    manifest.write(finished)
    write_statistics(finished, manifest, statistics)
    check_output_dir(output_dir, overwrite)
    replace_folder(finished, Path(output_dir).resolve())
    shutil.rmtree(job.path, ignore_errors=True)
