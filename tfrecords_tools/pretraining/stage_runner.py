"""Runs the stages of pretraining records, one after the other: plans the work, hands it out, counts results.

The work itself is done by the functions of pretraining_stages.py, in the workers of a pool.
"""

import itertools
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from absl import logging

from kbert.cli.progress import Progress
from kbert.files.json_file import read_json
from tfrecords_tools.corpus import duplicates
from tfrecords_tools.corpus.corpus_files import text_bytes
from tfrecords_tools.corpus.documents import plan_units, read_documents
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.pretraining.example_buckets import count_examples
from tfrecords_tools.pretraining.pretraining_stages import (
    BLOCK_BYTES,
    PARTNER_BLOCKS,
    BlockToSample,
    Part,
    TextGroup,
    counts_of,
    load_block,
    sample_block,
    summary_file,
    tokenize_group,
    write_part,
)
from tfrecords_tools.work.beam_pool import BeamPool
from tfrecords_tools.work.worker_pool import WorkerPool

_Pool = WorkerPool | BeamPool

# Planned bytes of pieces in a bucket. It is shuffled in memory, where it takes about three times as much.
BUCKET_BYTES = 32 << 20
HIGH_UNKNOWN_SHARE = 0.05


def text_groups(files: list[Path]) -> list[TextGroup]:
    """The pieces of the first stage; they depend on the names and sizes of the files alone."""
    groups, units, num_bytes = [], [], 0
    for unit in plan_units(files, BLOCK_BYTES):
        units.append(unit)
        num_bytes += text_bytes(Path(unit.file)) if unit.end < 0 else unit.end - unit.start
        if num_bytes >= BLOCK_BYTES // 2:
            groups.append(units)
            units, num_bytes = [], 0
    if units:
        groups.append(units)
    return [TextGroup(f"{number:06d}", tuple(units)) for number, units in enumerate(groups)]


def tokenize_corpus(job, pool: _Pool, groups):
    """The first stage.

    Returns:
      (blocks with their counts, duplicates included; `Problems`; what `counts_of` gives of the corpus that
      goes on, without duplicates).
    """
    sizes = {group.name: sum(_unit_bytes(unit) for unit in group.units) for group in groups}
    _run(job.tokens, pool, tokenize_group, job, groups, sizes, "Tokenised", "bytes")
    summaries = [read_json(summary_file(job.tokens, group.name)) for group in groups]
    blocks = [block for found in summaries for block in found["blocks"]]
    problems = Problems.merge(Problems.from_json(found["problems"]) for found in summaries)
    for line in problems.summary():
        logging.warning("%s", line)
    kept = blocks if job.settings.deduplicate == "none" else _drop_duplicates(job, groups, blocks)
    counts = {key: total_of(kept, key) for key in ("documents", "sentences", "tokens", "unknown")}
    if counts["documents"] < 1:
        raise ValueError("the input files hold no text: tokenization gave no pieces; give files with text.")
    if job.settings.has_pairs:
        require_two_documents(counts["documents"])
    share = counts["unknown"] / counts["tokens"]
    if share > HIGH_UNKNOWN_SHARE:
        logging.warning(
            "%.1f %% of all pieces are [UNK]: is vocab_file made for this language and casing?", 100 * share
        )
    return blocks, problems, counts


def _unit_bytes(unit):
    return Path(unit.file).stat().st_size if unit.end < 0 else unit.end - unit.start


def _drop_duplicates(job, groups, blocks) -> list[dict[str, int]]:
    """Writes for each block which of its documents occurred before; returns what it holds of the others."""
    fingerprints = np.concatenate(
        [np.load(job.tokens / f"{group.name}.fingerprints.npy") for group in groups]
    )
    dropped = duplicates.duplicates(fingerprints, job.settings.deduplicate)
    unk_id = job.vocabulary().unk_id
    place, kept = 0, []
    for block in blocks:
        of_block = dropped[place : place + block["documents"]]
        place += block["documents"]
        np.save(job.tokens / f"{block['name']}.dropped.npy", of_block)
        kept.append(counts_of(load_block(job, block["name"]), unk_id) if of_block.any() else block)
    logging.info("Dropped %d of %d documents as duplicates.", dropped.sum(), len(dropped))
    return kept


def sample_corpus(job, pool: _Pool, blocks) -> tuple[list[Part], int]:
    """The second stage.

    Returns:
      (the pieces of the third stage, how many of them make a shard).
    """
    num_bytes = total_of(blocks, "tokens") * job.settings.dupe_factor * job.piece_dtype.itemsize
    parts_of_shard = math.ceil(num_bytes / BUCKET_BYTES / job.settings.num_shards)
    num_buckets = parts_of_shard * job.settings.num_shards
    names = [block["name"] for block in blocks if block["tokens"]]
    pieces = [BlockToSample(name, number, _partners(job, names, number)) for number, name in enumerate(names)]
    sizes = {block["name"]: block["tokens"] for block in blocks}
    _run(job.examples, pool, sample_block, job, pieces, sizes, "Sampled from", "tokens", num_buckets)
    return [Part(f"{bucket:06d}", bucket, num_buckets) for bucket in range(num_buckets)], parts_of_shard


def _partners(job, names, number) -> tuple[tuple[str, ...], ...]:
    """For each pass, the other blocks that a block takes random texts from: all of them, or a sample."""
    others = names[:number] + names[number + 1 :]
    if len(others) <= PARTNER_BLOCKS:
        return (tuple(others),) * job.settings.dupe_factor
    rng = random.Random(f"{job.settings.seed}/partners/{number}")
    return tuple(tuple(rng.sample(others, PARTNER_BLOCKS)) for _ in range(job.settings.dupe_factor))


def write_parts(job, pool: _Pool, parts):
    """The third stage."""
    counts = np.zeros(len(parts), np.int64)
    for path in job.examples.glob("*.bin"):
        counts += count_examples(path, len(parts))
    sizes = dict(zip((part.name for part in parts), counts.tolist(), strict=True))
    _run(job.parts, pool, write_part, job, parts, sizes, "Wrote", "examples")


def _run(
    folder,
    pool: _Pool,
    function: Callable,
    job,
    pieces: Sequence,
    sizes: dict,
    what: str,
    unit: str,
    *arguments,
) -> None:
    """Runs the pieces of work that have no summary yet, and logs progress."""
    waiting = [piece for piece in pieces if not summary_file(folder, piece.name).is_file()]
    total = sum(sizes[piece.name] for piece in pieces)
    done = total - sum(sizes[piece.name] for piece in waiting)
    if done:
        logging.info(
            "%s %d of %d pieces in an earlier run; resuming.", what, len(pieces) - len(waiting), len(pieces)
        )
    progress = Progress(what, unit, total, already_done=done)
    work = _Work(function, job, arguments)
    for piece, _ in zip(waiting, pool.map(work, waiting), strict=True):
        done += sizes[piece.name]
        progress.report(done)
    progress.report_end()


class _Work:
    """A stage's function with all its arguments but the piece; sent to the workers."""

    def __init__(self, function, job, arguments):
        self._function, self._job, self._arguments = function, job, arguments

    def __call__(self, piece):
        self._function(self._job, piece, *self._arguments)


def require_two_documents(num_documents: int):
    """Raises ValueError when there is no other document to take a random next text from."""
    if num_documents < 2:
        raise ValueError(
            f"the input holds {num_documents} document{'' if num_documents == 1 else 's'}, but random "
            "next sentences come from other documents, so at least 2 are needed: put a blank line between "
            "documents, give more files, or use --pairing=full_sentences."
        )


def require_two_documents_to_begin_with(groups, job):
    """The same check before any work: reads only up to the second document."""
    documents = itertools.chain.from_iterable(
        read_documents(unit, job.text_format, Problems()) for group in groups for unit in group.units
    )
    require_two_documents(sum(1 for _ in itertools.islice(documents, 2)))


def total_of(blocks, key) -> int:
    return sum(block[key] for block in blocks)
