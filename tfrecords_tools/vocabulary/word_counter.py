"""How often each word of a corpus occurs: on all cores, in bounded memory.

The words are those of `split_words`, the same that WordPiece will see, so casing, accents and punctuation
need no second implementation. Its rules never join text across a space (chunk_tokenizer.py says why). So the
chunks between spaces are counted first, at the speed of reading, and each different chunk is then split into
words once.

Workers answer with the words of a few megabytes each, and these are added up in the order of the text. So the
result does not depend on the number of workers.
"""

import functools
import unicodedata
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from absl import logging

from kbert.cli.progress import Progress
from kbert.tokenization import word_splitter
from kbert.tokenization.wordpiece_rules import WordPieceRules
from tfrecords_tools.corpus.documents import TextFormat, Unit, plan_units, read_unit_lines
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.work.worker_pool import WorkerPool, byte_batches

UNIT_BYTES = 8 << 20
# What one worker holds before chunks are split into words.
_CHUNKS_AT_ONCE = 1 << 18
_CHUNK_BYTES_AT_ONCE = 16 << 20
_TEXT_BYTES_AT_ONCE = 1 << 17
_BYTES_PER_SPLIT = 1 << 20


class WordCounts(NamedTuple):
    """The words of a corpus, or of a part of it.

    Attributes:
      counts: how often each word occurs.
      num_dropped_long: how many running words were left out because they are too long for WordPiece.
      long_characters: how many characters these have.
      num_marked: how many running chunks between spaces have accents or other combining marks, which are
        stripped; 0 where they are not.
      marked: one of these chunks; "" without any.
      problems: the lines that could not be read, with `errors="skip"`.
      highest_dropped_count: how often the most frequent of the words occurred that were dropped because there
        were too many; 0 when none was dropped.
    """

    counts: Counter
    num_dropped_long: int
    long_characters: int
    num_marked: int
    marked: str
    problems: Problems
    highest_dropped_count: int = 0


def count_words(
    files: Iterable[Path],
    do_lower_case: bool,
    max_words_in_memory: int | None = None,
    *,
    text_format: TextFormat | None = None,
    pool: WorkerPool | None = None,
    **rules,
) -> WordCounts:
    """Counts the words of the files' lines.

    Args:
      files: those that `input_files` returns.
      do_lower_case: see `WordPieceRules`.
      max_words_in_memory: the most different words; None for as many as there are. Whenever there are more,
        the rarest are dropped until three quarters are left. The counts of words that come again later are
        then too low.
      text_format: how to read the files.
      pool: the processes that count; by default this process counts.
      rules: further arguments of `WordPieceRules`.

    Raises:
      ValueError: naming file and line of what cannot be read, unless `text_format` skips it.
    """
    # A corpus may have many small files: these are joined.
    units = plan_units(files, UNIT_BYTES)
    groups = list(byte_batches(units, UNIT_BYTES // 2, size=lambda unit: unit.num_bytes))
    sizes = [sum(unit.num_bytes for unit in units) for units in groups]
    pool = pool or WorkerPool(1)
    progress = Progress("Counted", "bytes", sum(sizes))
    work = functools.partial(
        count_units, rules=WordPieceRules(do_lower_case, **rules), text_format=text_format or TextFormat()
    )
    counts, results, done, highest = Counter(), [], 0, 0
    for size, result in zip(sizes, pool.map(work, groups), strict=True):
        counts.update(result.counts)
        results.append(result._replace(counts=Counter()))
        if max_words_in_memory and len(counts) > max_words_in_memory:
            highest = max(highest, _drop_rarest(counts, max_words_in_memory * 3 // 4))
        done += size
        progress.report(done)
    progress.report_end()
    if highest:
        logging.warning(
            "The corpus has more than --max_words_in_memory=%d different words: rare ones, seen up to %d "
            "times, were dropped. %d are left.", max_words_in_memory, highest, len(counts),
        )  # fmt: skip
    return WordCounts(
        counts,
        sum(result.num_dropped_long for result in results),
        sum(result.long_characters for result in results),
        sum(result.num_marked for result in results),
        next((result.marked for result in results if result.marked), ""),
        Problems.merge([result.problems for result in results]),
        highest,
    )


def _drop_rarest(counts: Counter, most: int) -> int:
    """Drops all words up to the count that leaves at most `most`; returns this count."""
    words_by_count = sorted(Counter(counts.values()).items())
    num_left, highest = len(counts), 0
    while num_left > most:
        highest, num_words = words_by_count.pop(0)
        num_left -= num_words
    for word in [word for word, count in counts.items() if count <= highest]:
        del counts[word]
    return highest


# ------------------------------------------------------------------------------ one worker


def count_units(units: Iterable[Unit], *, rules: WordPieceRules, text_format: TextFormat) -> WordCounts:
    """Counts the words of some units."""
    chunks, words, problems = Counter(), _Words(rules), Problems()
    num_bytes = 0
    for unit in units:
        for lines in byte_batches(read_unit_lines(unit, text_format, problems), _TEXT_BYTES_AT_ONCE):
            text = b" ".join(lines)
            chunks.update(text.split(b" "))
            num_bytes += len(text)
            # Bytes are limited as well: a line of Chinese is one chunk, and such chunks rarely repeat.
            if len(chunks) > _CHUNKS_AT_ONCE or num_bytes > _CHUNK_BYTES_AT_ONCE:
                words.add(chunks)
                chunks.clear()
                num_bytes = 0
    words.add(chunks)
    counts = Counter({word.decode("utf-8"): number for word, number in words.counts.items()})
    marked = words.marked.decode("utf-8", "replace")
    return WordCounts(counts, words.num_long, words.long_characters, words.num_marked, marked, problems)


class _Words:
    """The words of counted chunks, see `WordCounts`; all as bytes."""

    def __init__(self, rules):
        self._rules = rules
        self.counts, self.num_long, self.long_characters = Counter(), 0, 0
        self.num_marked, self.marked = 0, b""

    def add(self, chunks: Counter):
        import numpy as np
        import tensorflow as tf

        for batch in byte_batches(chunks, _BYTES_PER_SPLIT):
            numbers = np.fromiter(map(chunks.__getitem__, batch), np.int64)
            split = word_splitter.split_words(tf.constant(batch, tf.string), **self._rules.splitting)
            if self._rules.strip_accents:
                self._note_marks(batch, numbers)
            flat, repeated = split.flat_values, np.repeat(numbers, split.row_lengths().numpy())
            # WordPiece makes [UNK] of longer ones; here they would only fill the memory.
            lengths = tf.strings.length(flat, unit="UTF8_CHAR").numpy()
            is_short = lengths <= self._rules.max_input_chars_per_word
            self.num_long += int(repeated[~is_short].sum())
            self.long_characters += int((repeated * lengths)[~is_short].sum())
            short = zip(flat.numpy()[is_short].tolist(), repeated[is_short].tolist(), strict=True)
            for word, number in short:
                self.counts[word] += number

    def _note_marks(self, batch, numbers):
        for chunk, number in zip(batch, numbers.tolist(), strict=True):
            if _has_marks(chunk):
                self.num_marked += number
                self.marked = self.marked or chunk


def _has_marks(chunk: bytes) -> bool:
    if chunk.isascii():
        return False
    decomposed = unicodedata.normalize("NFD", chunk.decode("utf-8", errors="ignore"))
    return any(unicodedata.category(character) == "Mn" for character in decomposed)
