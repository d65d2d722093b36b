"""The last stage of pretraining records: buckets of examples -> parts of shards -> a folder of records."""

import contextlib
import functools
import os
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kbert.features import PRETRAINING_RECORDS
from kbert.files.full_disk import naming_full_disk
from kbert.files.json_file import read_json
from kbert.files.whole_file import replace_folder, write_json
from kbert.input_pipelines.masking import PieceMasker
from kbert.manifest import Manifest, Shard, describe_shards
from kbert.tokenization.python import packing
from tfrecords_tools.pretraining.example_buckets import Examples, count_examples, read_bucket
from tfrecords_tools.pretraining.pretraining_job import Pool, PretrainingJob, run_items, summary_file
from tfrecords_tools.records.record_statistics import NEVER_MASKED, RecordStatistics
from tfrecords_tools.records.record_writer import check_output_dir
from tfrecords_tools.records.statistics_page import write_statistics
from tfrecords_tools.records.tfrecord_files import (
    ENDINGS,
    encode_examples,
    framed,
    open_records,
    shard_names,
)

_EXAMPLES_AT_ONCE = 2048
_FIRST_EXAMPLES = "first_examples.npz"  # a few examples to show to the user
_SEED = 2  # first number of this stage's seeds, so that no two stages draw the same numbers


class Part(NamedTuple):
    """An item of this stage: a bucket of examples, which becomes a part of a shard."""

    name: str
    bucket: int
    num_buckets: int


def write_shards(
    job: PretrainingJob, pool: Pool, buckets_per_shard: int
) -> tuple[Path, tuple[Shard, ...], RecordStatistics]:
    """Runs the stage, and joins the parts of each shard.

    Returns:
      (the folder they are in, the shards, the statistics of all records).

    Raises:
      ValueError: when examples that were sampled are no longer there.
    """
    num_buckets = buckets_per_shard * job.settings.num_shards
    parts = [Part(f"{bucket:06d}", bucket, num_buckets) for bucket in range(num_buckets)]
    counts = np.zeros(num_buckets, np.int64)
    for path in job.examples.glob("*.bin"):
        counts += count_examples(path, num_buckets)
    num_sampled = sum(read_json(path)["examples"] for path in job.examples.glob("*.json"))
    if counts.sum() != num_sampled:
        raise ValueError(
            f"{job.examples} holds {counts.sum():,} examples, expected the {num_sampled:,} that were "
            f"sampled; delete the folder {job.path} and begin again."
        )
    sizes = dict(zip((part.name for part in parts), counts.tolist(), strict=True))
    run_items(write_part, job, pool, parts, job.parts, sizes, "Wrote", "examples")
    return _assemble(
        job, [parts[i : i + buckets_per_shard] for i in range(0, num_buckets, buckets_per_shard)]
    )


def finish(job: PretrainingJob, folder: Path, output_dir, manifest: Manifest, statistics, overwrite: bool):
    """Completes a folder of shards, renames it to `output_dir`, and deletes the work folder."""
    job.vocabulary().write_files(folder)
    manifest.write(folder)
    write_statistics(folder, manifest, statistics)
    check_output_dir(output_dir, overwrite)
    replace_folder(folder, Path(output_dir).resolve())
    job.delete()


def _assemble(job, parts_by_shard):
    folder = job.path / "finished"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    statistics = RecordStatistics(job.settings.features(), job.vocabulary())
    suffix, num_examples = ENDINGS[job.settings.compression], {}
    names = shard_names(PRETRAINING_RECORDS, len(parts_by_shard), job.settings.compression)
    for name, parts in zip(names, parts_by_shard, strict=True):
        summaries = [read_json(summary_file(job.parts, part.name)) for part in parts]
        num_examples[name] = sum(summary["examples"] for summary in summaries)
        for part in parts:
            with np.load(job.parts / f"{part.name}.npz") as counts:
                statistics.add(counts)
        _join_files([job.parts / f"{part.name}{suffix}" for part in parts], folder / name)
    if (job.parts / _FIRST_EXAMPLES).is_file():
        with np.load(job.parts / _FIRST_EXAMPLES) as columns:
            rows = zip(*(columns[name] for name in columns), strict=True)
            statistics.examples = [dict(zip(columns, row, strict=True)) for row in rows]
    return folder, describe_shards(folder, num_examples), statistics


def _join_files(paths, target):
    """A shard is one record after another, so the bytes of its parts are joined."""
    if len(paths) == 1:
        with contextlib.suppress(OSError):  # a file system without links: copied below
            os.link(paths[0], target)
            return
    with open(target, "wb") as joined:
        for path in paths:
            with open(path, "rb") as file:
                shutil.copyfileobj(file, joined, 1 << 20)


# ------------------------------------------------------------------------------ in a worker


def write_part(job: PretrainingJob, part: Part):
    """Lays out, masks and writes the examples of a bucket in random order to `parts/NAME.tfrecord`.

    The summary holds the number of `examples`; their `RecordStatistics.counts` are in `parts/NAME.npz`.
    """
    settings = job.settings
    features = settings.features()
    statistics = RecordStatistics(features, job.vocabulary())
    generator = job.generator(_SEED, part.bucket)
    paths = sorted(job.examples.glob("*.bin"))
    examples = read_bucket(paths, part.bucket, part.num_buckets, job.piece_dtype)
    order = generator.permutation(len(examples))
    path = job.parts / f"{part.name}{ENDINGS[settings.compression]}"
    with naming_full_disk(path), open_records(path, settings.compression) as file:
        for start in range(0, len(order), _EXAMPLES_AT_ONCE):
            batch = _lay_out(job, examples.take(order[start : start + _EXAMPLES_AT_ONCE]), generator)
            statistics.update(batch)
            if settings.masking == "dynamic" and settings.do_whole_word_mask:
                never = _masker(job).are_never_masked(batch["input_ids"], batch["input_mask"].sum(axis=1))
                statistics.add({NEVER_MASKED: np.array([np.count_nonzero(never)])})
            file.write(b"".join(framed(encode_examples(batch, features))))
    np.savez(job.parts / f"{part.name}.npz", **statistics.counts)  # type: ignore[arg-type]  # arrays by name
    if part.bucket == 0 and statistics.examples:
        columns = {name: np.stack([example[name] for example in statistics.examples]) for name in features}
        np.savez(job.parts / _FIRST_EXAMPLES, **columns)  # type: ignore[arg-type]  # arrays by name
    write_json({"examples": len(examples)}, summary_file(job.parts, part.name))


def _lay_out(job, examples: Examples, generator) -> dict[str, np.ndarray]:
    """The features of a batch of examples."""
    has_pairs = job.settings.has_pairs
    second_lengths = examples.second_lengths if has_pairs else None
    batch = packing.pack(
        examples.pieces, examples.first_lengths, second_lengths, job.vocabulary(), job.settings.max_seq_length
    )
    if job.settings.masking == "static":
        masked = _masker(job)(batch["input_ids"], batch["input_mask"].sum(axis=1), generator)
        batch |= {
            "input_ids": masked.input_ids,
            "masked_lm_positions": masked.positions,
            "masked_lm_ids": masked.answers,
            "masked_lm_weights": masked.weights,
        }
    if has_pairs:
        batch["next_sentence_labels"] = examples.labels[:, np.newaxis].astype(np.int32)
    return batch


@functools.lru_cache(maxsize=1)
def _masker(job):
    settings = job.settings
    return PieceMasker(
        job.vocabulary(),
        max_predictions_per_seq=settings.max_predictions_per_seq,
        masked_lm_prob=settings.masked_lm_prob,
        do_whole_word_mask=settings.do_whole_word_mask,
        max_ngram_size=settings.max_ngram_size,
    )
