r"""Script: corpus -> vocab.txt.

  python -m tfrecords_tools.build_vocabulary \
      --input_files='corpus/*.txt' --output_file=vocab.txt --vocab_size=30522

The words counted are those of `split_words`, the very ones WordPiece will see, so casing, accents and
punctuation need no second implementation. Texts may be of any size: lines are counted in batches.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from absl import flags, logging

from kbert import command_line
from kbert.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from tfrecords_tools import wordpiece_learner
from tfrecords_tools.documents import input_files, read_lines

FLAGS = flags.FLAGS

BATCH_CHARACTERS = 1 << 20
SECONDS_BETWEEN_PROGRESS_LINES = 5.0


def define_flags():
    """Defined on demand, so that a test may import several scripts that share the names of flags."""
    flags.DEFINE_string("input_files", None, "Text files (or .gz), globs allowed, separated by commas.")
    flags.DEFINE_string("output_file", None, "The vocab.txt to write.")
    flags.DEFINE_integer("vocab_size", 30522, "Pieces to learn, special tokens included.", lower_bound=1)
    flags.DEFINE_bool("do_lower_case", True, "Lower-case the text and strip accents.")
    flags.DEFINE_integer("min_frequency", 2, "Merge only pairs that occur this often.", lower_bound=1)
    flags.DEFINE_integer(
        "num_unused_tokens",
        wordpiece_learner.NUM_UNUSED_TOKENS,
        "Slots [unused0] ... for pieces of your own; 99 gives the published ids 100 to 103 to [UNK] "
        "[CLS] [SEP] [MASK]. A small vocabulary may want fewer.",
        lower_bound=0,
    )
    flags.DEFINE_integer(
        "alphabet_limit",
        wordpiece_learner.ALPHABET_LIMIT,
        "Different characters to keep, the most frequent; words with another become [UNK]. Chinese and "
        "Japanese want several thousand.",
        lower_bound=1,
    )
    flags.DEFINE_integer(
        "max_words_in_memory",
        2_000_000,
        "When there are more different words than this, the rarest are dropped (and it is said).",
        lower_bound=1000,
    )
    flags.DEFINE_bool("overwrite", False, "Replace an output file that exists.")
    flags.mark_flags_as_required(["input_files", "output_file"])


class WordCounts(NamedTuple):
    """What a corpus is made of: `counts` of its words, and how many were left out of them."""

    counts: Counter
    num_dropped_rare: int
    num_dropped_long: int


class Coverage(NamedTuple):
    """How a vocabulary cuts up words that are counted: running words, their pieces, unknown ones."""

    num_words: int
    num_pieces: int
    num_unknown: int


def main(argv):
    del argv
    files = input_files(FLAGS.input_files)
    output_file = Path(FLAGS.output_file)
    check_output_file(output_file, FLAGS.overwrite)
    check_vocab_size(FLAGS.vocab_size, FLAGS.num_unused_tokens)
    output_file.parent.mkdir(parents=True, exist_ok=True)

    words = count_words(files, FLAGS.do_lower_case, FLAGS.max_words_in_memory)
    logging.info("Learning %d pieces from %d different words.", FLAGS.vocab_size, len(words.counts))
    tokens = wordpiece_learner.learn_wordpieces(
        words.counts,
        FLAGS.vocab_size,
        min_frequency=FLAGS.min_frequency,
        num_unused_tokens=FLAGS.num_unused_tokens,
        alphabet_limit=FLAGS.alphabet_limit,
    )
    vocabulary = Vocabulary(tokens, FLAGS.do_lower_case)
    vocabulary.write(output_file)
    print(summary(output_file, vocabulary, words))


def check_output_file(path: Path, overwrite: bool):
    """Raises ValueError or FileExistsError when `path` cannot be written, before any work is done."""
    if path.is_dir():
        raise ValueError(f"output file {path} is a directory; name a file in it: {path / 'vocab.txt'}.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"output file {path} exists; pass --overwrite to replace it, or another name.")


def check_vocab_size(vocab_size: int, num_unused_tokens: int):
    """Raises ValueError when special and unused tokens alone fill the vocabulary."""
    reserved = len(SPECIAL_TOKENS) + num_unused_tokens
    if vocab_size <= reserved:
        raise ValueError(
            f"--vocab_size={vocab_size} has no room beside {len(SPECIAL_TOKENS)} special and "
            f"{num_unused_tokens} unused tokens; raise it, or lower --num_unused_tokens."
        )


# ------------------------------------------------------------------------------ counting


def count_words(files: Iterable[Path], do_lower_case: bool, max_words_in_memory: int) -> WordCounts:
    """Counts the words of the files' lines.

    Args:
      files: text or `.gz` files, as for `read_lines`.
      do_lower_case: as for `split_words`.
      max_words_in_memory: when more different words than this have been met, the rarest are dropped
        until half of it is left; a dropped word that comes again starts from nothing.

    Raises:
      ValueError: naming file and line where a file is not UTF-8.
    """
    # Late: TensorFlow takes seconds to import, and what is wrong with the flags has been said by now.
    import tensorflow as tf

    from kbert.tokenization.word_splitter import split_words
    from kbert.tokenization.wordpiece_tokenizer import MAX_CHARACTERS_PER_WORD

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def short_words(lines):
        words = split_words(lines, do_lower_case).flat_values
        # WordPiece makes [UNK] of longer ones; here they would only fill the memory.
        is_short = tf.strings.length(words, unit="UTF8_CHAR") <= MAX_CHARACTERS_PER_WORD
        return tf.boolean_mask(words, is_short), tf.size(words)

    counts, num_dropped_rare, num_dropped_long = Counter(), 0, 0
    for lines in _report_progress(_line_batches(files), files):
        words, num_words = short_words(tf.constant(lines))
        counts.update(words.numpy().tolist())  # UTF-8 bytes, decoded once at the end
        num_dropped_long += int(num_words) - words.shape[0]
        if len(counts) > max_words_in_memory:
            num_dropped_rare += drop_rarest(counts, max_words_in_memory // 2)
    words = Counter({word.decode("utf-8"): count for word, count in counts.items()})
    return WordCounts(words, num_dropped_rare, num_dropped_long)


def drop_rarest(counts: Counter, keep: int) -> int:
    """Drops whole frequencies, from 1 upwards, until at most `keep` words stay; returns how many went."""
    words_per_count = Counter(counts.values())
    threshold, left = 0, len(counts)
    for count in sorted(words_per_count):
        if left <= keep:
            break
        threshold, left = count, left - words_per_count[count]
    rare = [word for word, count in counts.items() if count <= threshold]
    for word in rare:
        del counts[word]
    logging.warning(
        "More different words than --max_words_in_memory: dropped %d that were seen at most %d times so "
        "far, %d stay.",
        *(len(rare), threshold, len(counts)),
    )
    return len(rare)


def _line_batches(files) -> Iterator[list[str]]:
    """Yields the non-empty lines of all files, about `BATCH_CHARACTERS` at a time."""
    lines, num_characters = [], 0
    for file in files:
        for line in read_lines(file):
            if line:
                lines.append(line)
                num_characters += len(line)
            if num_characters >= BATCH_CHARACTERS:
                yield lines
                lines, num_characters = [], 0
    if lines:
        yield lines


def _report_progress(batches, files) -> Iterator[list[str]]:
    """Passes batches of lines on, and logs how far they are and how long the rest will take."""
    total, done, seconds = sum(map(_text_bytes, files)), 0, 0.0
    start = last = time.monotonic()
    for lines in batches:
        yield lines  # the time the caller takes for them is part of the speed
        done += sum(len(line.encode("utf-8")) + 1 for line in lines)
        now = time.monotonic()
        seconds = now - start
        if now - last >= SECONDS_BETWEEN_PROGRESS_LINES:
            last = now
            logging.info(
                "Counted %.1f of %.1f MB (%d %%), %.1f MB/s, about %d s left.",
                *(done / 1e6, total / 1e6, min(100, 100 * done // total), done / 1e6 / seconds),
                max(0, total - done) * seconds / done,
            )
    speed = done / 1e6 / max(seconds, 1e-9)
    logging.info("Counted %.1f MB in %.1f s (%.1f MB/s).", done / 1e6, seconds, speed)


def _text_bytes(file: Path) -> int:
    """The size of a file's text. A gzip file ends with it (RFC 1952, ISIZE), modulo 4 GiB."""
    size = file.stat().st_size
    if file.suffix != ".gz" or size < 4:
        return size
    with open(file, "rb") as stream:
        stream.seek(-4, 2)
        return max(size, int.from_bytes(stream.read(4), "little"))


# ------------------------------------------------------------------------------ summary


def coverage(counts: Mapping[str, int], tokens: Iterable[str]) -> Coverage:
    """Cuts every counted word into pieces, greedily the longest first, as WordPiece does."""
    known = frozenset(tokens)
    longest = max(map(len, known))
    num_words = num_pieces = num_unknown = 0
    for word, count in counts.items():
        pieces = _longest_matches(word, known, longest)
        num_words += count
        num_pieces += count * (pieces or 1)
        num_unknown += count * (not pieces)
    return Coverage(num_words, num_pieces, num_unknown)


def _longest_matches(word, known, longest) -> int:
    """The number of pieces of `word`, 0 when it is [UNK]."""
    start, num_pieces, prefix = 0, 0, ""
    while start < len(word):
        for end in range(min(len(word), start + longest), start, -1):
            if prefix + word[start:end] in known:
                break
        else:
            return 0
        start, num_pieces, prefix = end, num_pieces + 1, wordpiece_learner.CONTINUATION
    return num_pieces


def summary(output_file: Path, vocabulary: Vocabulary, words: WordCounts) -> str:
    """What came out, for the person who asked for it."""
    covered = coverage(words.counts, vocabulary.tokens)
    unknown_percent = 100 * covered.num_unknown / covered.num_pieces
    lines = [
        f"{output_file}: {len(vocabulary)} tokens, {'un' if vocabulary.do_lower_case else ''}cased",
        f"words: {covered.num_words:,}, different: {len(words.counts):,}",
        f"pieces per word: {covered.num_pieces / covered.num_words:.3f}",
        f"unknown pieces: {unknown_percent:.4f} %",
    ]
    if words.num_dropped_long:
        lines.append(f"words too long for WordPiece, each [UNK], not counted: {words.num_dropped_long:,}")
    if words.num_dropped_rare:
        lines.append(
            f"rare words dropped, counts are a little low: {words.num_dropped_rare:,} "
            "(raise --max_words_in_memory to keep them)"
        )
    if unknown_percent > 1:
        lines.append("That is many unknown pieces: raise --alphabet_limit and --vocab_size.")
    return "\n".join(lines)


if __name__ == "__main__":
    define_flags()
    command_line.run(main)
