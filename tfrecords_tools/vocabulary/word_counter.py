"""How often each word of a corpus occurs: on all cores, exactly, in bounded memory.

The words are those of `split_words`, the same that WordPiece will see, so casing, accents and punctuation
need no second implementation. Its rules never join text across a space (chunk_tokenizer.py says why). So the
chunks between spaces are counted first, at the speed of reading, and each different chunk is then split into
words once.

Memory holds about `max_words_in_memory` words at a time. When there are more, they are written to disk as
sorted runs, which are merged at the end. So counts are always exact, and which words are kept depends on the
text and the limit alone: not on how the files are cut into units, nor on which process counted which unit.
"""

import functools
import heapq
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count, groupby
from pathlib import Path
from typing import NamedTuple

from absl import logging

from kbert.files.full_disk import naming_full_disk
from kbert.progress import Progress
from tfrecords_tools.corpus.byte_batches import byte_batches
from tfrecords_tools.corpus.documents import Problems, TextFormat, Unit, plan_units, read_lines_of_unit
from tfrecords_tools.work.worker_pool import WorkerPool

UNIT_BYTES = 8 << 20
DEFAULT_MAX_WORDS = 2_000_000
# What one worker holds: chunks before they are split into words, and words before they go to disk.
_CHUNKS_AT_ONCE = 1 << 18
_CHUNK_BYTES_AT_ONCE = 16 << 20
_WORDS_OF_WORKER = 1 << 18
_BYTES_PER_SPLIT = 1 << 20
_RUNS_MERGED_AT_ONCE = 64  # limits the number of open files


class WordCounts(NamedTuple):
    """The words of a corpus.

    Attributes:
      counts: how often each word occurs.
      num_dropped_rare: how many different words were left out because there were too many.
      highest_dropped_count: how often the most frequent of them occur, 0 when none was left out.
      num_dropped_long: how many running words were left out because they are too long for WordPiece.
      problems: the lines that could not be read, with `errors="skip"`.
    """

    counts: Counter
    num_dropped_rare: int
    highest_dropped_count: int
    num_dropped_long: int
    problems: Problems


def count_words(
    files: Iterable[Path],
    do_lower_case: bool,
    max_words_in_memory: int = DEFAULT_MAX_WORDS,
    *,
    text_format: TextFormat | None = None,
    pool: WorkerPool | None = None,
) -> WordCounts:
    """Counts the words of the files' lines.

    Args:
      files: those that `documents.input_files` returns.
      do_lower_case: as for `split_words`.
      max_words_in_memory: the most different words, in memory and in the result. When the corpus has more,
        the rarest are left out: all words that occur at most a certain number of times.
      text_format: how to read the files.
      pool: the processes that count; by default this process counts.

    Raises:
      ValueError: naming file and line of what cannot be read, unless `text_format` skips it.
    """
    groups = _groups(plan_units(files, UNIT_BYTES))
    sizes = [sum(map(_num_bytes, units)) for units in groups]
    pool = pool or WorkerPool(1)
    progress = Progress("Counted", "bytes", sum(sizes), num_workers=pool.num_workers)
    beside = tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix="word_counts_") as folder, naming_full_disk(beside, folder):
        work = functools.partial(
            count_units,
            do_lower_case=do_lower_case,
            text_format=text_format or TextFormat(),
            max_words=min(max_words_in_memory, _WORDS_OF_WORKER),
            folder=folder,
        )
        totals, runs, num_long, problems, done = Counter(), [], 0, [], 0
        for size, counted in zip(sizes, pool.map(work, groups), strict=True):
            _add_run(totals, counted.run)
            runs += counted.files
            num_long += counted.num_long
            problems.append(counted.problems)
            if len(totals) > max_words_in_memory:
                runs.append(_write_run(totals, folder))
                totals.clear()
            done += size
            progress.report(done)
        num_rare = highest = 0
        if runs:
            runs.append(_write_run(totals, folder))
            totals, num_rare, highest = _most_frequent(runs, max_words_in_memory, folder)
    progress.report_end()
    words = Counter({word.decode("utf-8"): number for word, number in totals.items()})
    return WordCounts(words, num_rare, highest, num_long, Problems.merge(problems))


def _groups(units) -> list[tuple[Unit, ...]]:
    """Joins units into groups of about `UNIT_BYTES`, because a corpus may have many small files."""
    groups, group, num_bytes = [], [], 0
    for unit in units:
        group.append(unit)
        num_bytes += _num_bytes(unit)
        if num_bytes >= UNIT_BYTES // 2:
            groups.append(tuple(group))
            group, num_bytes = [], 0
    return [*groups, tuple(group)] if group else groups


def _num_bytes(unit):
    """The size on disk; how much text a compressed file holds is not known."""
    return unit.end - unit.start if unit.end >= 0 else Path(unit.file).stat().st_size


# ------------------------------------------------------------------------------ one worker


class CountedUnits(NamedTuple):
    """The words of some units: sorted runs, one as bytes and the others in files."""

    run: bytes
    files: list[str]
    num_long: int
    problems: Problems


def count_units(
    units: tuple[Unit, ...], *, do_lower_case: bool, text_format: TextFormat, max_words: int, folder: str
) -> CountedUnits:
    """Counts the words of some units.

    Args:
      units, do_lower_case, text_format: what to count.
      max_words: when there are more different words, they are written to a run in `folder`.
    """
    chunks, words, files, problems = Counter(), Counter(), [], Problems()
    num_long = num_bytes = 0

    def split_chunks():
        nonlocal num_long, num_bytes
        num_long += _add_words_of_chunks(words, chunks, do_lower_case)
        chunks.clear()
        num_bytes = 0
        if len(words) > max_words:
            files.append(_write_run(words, folder))
            words.clear()

    for unit in units:
        for lines in read_lines_of_unit(unit, text_format, problems):
            text = b" ".join(lines)
            chunks.update(text.split(b" "))
            num_bytes += len(text)
            # Bytes are limited as well: a line of Chinese is one chunk, and such chunks rarely repeat.
            if len(chunks) > _CHUNKS_AT_ONCE or num_bytes > _CHUNK_BYTES_AT_ONCE:
                split_chunks()
    split_chunks()
    return CountedUnits(b"".join(_run_lines(words)), files, num_long, problems)


def _add_words_of_chunks(words, chunks, do_lower_case) -> int:
    """Adds the words of counted chunks to counted words; returns how many running words were too long."""
    # Late: TensorFlow takes seconds to import, and the parent process does not need it.
    import numpy as np
    import tensorflow as tf

    from kbert.tokenization.word_splitter import split_words
    from kbert.tokenization.wordpiece_tokenizer import MAX_CHARACTERS_PER_WORD

    num_long = 0
    for batch in byte_batches(chunks, _BYTES_PER_SPLIT):
        split = split_words(tf.constant(batch, tf.string), do_lower_case)
        flat = split.flat_values
        counts = np.repeat(np.fromiter(map(chunks.__getitem__, batch), np.int64), split.row_lengths().numpy())
        # WordPiece makes [UNK] of longer ones; here they would only fill the memory.
        is_short = (tf.strings.length(flat, unit="UTF8_CHAR") <= MAX_CHARACTERS_PER_WORD).numpy()
        num_long += int(counts[~is_short].sum())
        for word, number in zip(flat.numpy()[is_short].tolist(), counts[is_short].tolist(), strict=True):
            words[word] += number
    return num_long


# ------------------------------------------------------------------------------ sorted runs


def _run_lines(counts) -> Iterator[bytes]:
    """Lines "word TAB count", sorted by word. No word holds a tab or a byte below it, so that sorting the
    lines gives the same order."""
    return (b"%b\t%d\n" % item for item in sorted(counts.items()))


_run_numbers = count()


def _write_run(counts, folder) -> str:
    path = os.path.join(folder, f"{os.getpid()}_{next(_run_numbers)}.run")
    with open(path, "wb") as file:
        file.writelines(_run_lines(counts))
    return path


def _add_run(totals, run: bytes):
    fields = run.replace(b"\n", b"\t").split(b"\t")
    for word, number in zip(fields[:-1:2], map(int, fields[1::2]), strict=True):
        totals[word] += number


def _most_frequent(runs, max_words, folder) -> tuple[Counter, int, int]:
    """Merges runs; returns the most frequent words, how many were left out, and their highest count."""
    while len(runs) > _RUNS_MERGED_AT_ONCE:
        runs = [*runs[_RUNS_MERGED_AT_ONCE:], _merge(runs[:_RUNS_MERGED_AT_ONCE], folder)]
    merged = _merge(runs, folder)
    with open(merged, "rb") as file:
        words_per_count = Counter(int(line.partition(b"\t")[2]) for line in file)
    highest, num_words = 0, words_per_count.total()
    num_kept = num_words
    for number in sorted(words_per_count):
        if num_kept <= max_words:
            break
        highest, num_kept = number, num_kept - words_per_count[number]
    totals = Counter()
    with open(merged, "rb") as file:
        for line in file:
            word, _, number = line.partition(b"\t")
            if int(number) > highest:
                totals[word] = int(number)
    if num_kept < num_words:
        logging.warning(
            "The corpus has more different words than --max_words_in_memory: of %d, the %d that occur at "
            "most %d times are left out, and %d are kept.",
            *(num_words, num_words - num_kept, highest, num_kept),
        )
    return totals, num_words - num_kept, highest


def _merge(runs, folder) -> str:
    """Merges run files into one, and deletes them."""
    path = os.path.join(folder, f"{os.getpid()}_{next(_run_numbers)}.run")
    files = [open(run, "rb") for run in runs]
    try:
        with open(path, "wb") as merged:
            fields = (line.split(b"\t") for line in heapq.merge(*files))
            for word, same in groupby(fields, key=lambda field: field[0]):
                merged.write(b"%b\t%d\n" % (word, sum(int(number) for _, number in same)))
    finally:
        for file in files:
            file.close()
    for run in runs:
        os.remove(run)
    return path
