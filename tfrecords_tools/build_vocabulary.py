r"""Script: corpus -> vocab.txt, a new one or one that extends another; or the files of another tokenizer.

  kbert vocab \
      --input_files='corpus/*.txt' --output_file=vocab.txt --vocab_size=30522
  kbert vocab \
      --input_files='papers/*.jsonl.gz' --output_file=papers/vocab.txt --merge_into=vocab.txt
  kbert vocab --tokenizer=unigram \
      --input_files='corpus/*.txt' --output_dir=my_tokenizer --vocab_size=30522
"""

import functools
import string
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from absl import flags, logging

from kbert.bounds import Bounds
from kbert.checkpoints import formats
from kbert.checkpoints.hugging_face import tokenizer as tokenizer_files
from kbert.checkpoints.vocabulary_source import read_source
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.files.output_path import check_output_file, check_output_folder, require_free_folder
from kbert.files.whole_file import whole_folder
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.vocabulary import Vocabulary, require_wordpiece
from kbert.tokenization.wordpiece_rules import WordPieceRules
from kbert.tokenization.written_tokens import WITH_BLANKS
from tfrecords_tools.corpus.corpus_files import input_files, input_folders, text_bytes
from tfrecords_tools.corpus.documents import TextFormat, require_text_field
from tfrecords_tools.corpus.written_marks import say_written_marks
from tfrecords_tools.vocabulary import wordpiece_learner
from tfrecords_tools.vocabulary.coverage import coverage
from tfrecords_tools.vocabulary.tokenizer_learners import NO_WORDS, learn_tokenizer
from tfrecords_tools.vocabulary.user_defined_tokens import (
    check_tokens,
    fill_unused_slots,
    is_marker,
    read_tokens,
    unused_slots,
)
from tfrecords_tools.vocabulary.word_counter import WordCounts, count_words
from tfrecords_tools.work.worker_pool import WorkerPool, workers_worth

FLAGS = flags.FLAGS

# These flags shape a new vocabulary. They have no meaning for one that --merge_into extends.
_FLAGS_OF_NEW_VOCABULARIES = ("num_unused_tokens", "alphabet_limit", "ascii_alphabet")
_WORDPIECE_FLAGS = (
    *("output_file", "max_words_in_memory", "num_workers", "do_lower_case", "user_defined_tokens"),
    *("merge_into", "merge_slots", *_FLAGS_OF_NEW_VOCABULARIES),
)
_MUCH = 0.05  # of a text
# By --tokenizer: the flags that have no meaning for it.
_MEANINGLESS_FLAGS = {
    "wordpiece": ("output_dir",),
    "bpe": _WORDPIECE_FLAGS,
    "unigram": (*_WORDPIECE_FLAGS, "min_frequency"),
}


@dataclass(frozen=True)
class Flags:
    """What to learn from which corpus.

    Args:
      input_files: text or JSONL files (also .gz, .bz2, .xz, .zst), directories and globs, separated by
        commas.
      tokenizer: what to learn. wordpiece: BERT's. bpe: byte-level, RoBERTa's. unigram: SentencePiece,
        XLM-R's.
      output_file: the vocab.txt to write.
      output_dir: instead of `output_file`, for bpe and unigram: the folder to make.
      vocab_size: tokens to learn, special tokens included.
      do_lower_case: lower-case the text and drop accents, umlauts, vowel signs and all other combining marks.
      min_frequency: merge only pairs at least this frequent.
      num_unused_tokens: how many [unused0] ... tokens to reserve for tokens that you add later. With 99,
        [UNK] [CLS] [SEP] [MASK] get the ids 100 to 103, as in the published vocabularies. A small vocabulary
        needs fewer.
      alphabet_limit: how many different characters to keep, the most frequent ones; a word with any other
        character becomes [UNK]. Chinese and Japanese need several thousand.
      ascii_alphabet: keep every ASCII letter, digit and punctuation mark, whether it occurs or not.
      user_defined_tokens: words to add to the vocabulary unchanged: separated by commas, or a file with one
        word per line.
      merge_into: a vocab.txt to extend, or the folder or name of a model, whose casing and rules for words
        are followed too; its ids stay.
      merge_slots: where `merge_into` puts new tokens. unused: they replace [unused] tokens, and the model
        keeps its size. append: they follow at the end, up to `vocab_size`, and the embedding table has to
        grow.
      max_words_in_memory: how many different words to hold in memory, a few hundred bytes each. If the corpus
        has more, rare ones are dropped, with a warning.
      text_field: the key of the text in JSONL files.
      errors: what to do with lines that are not UTF-8 or not JSON.
      num_workers: number of processes; 0 means one per core, fewer for small corpora. The vocabulary does not
        depend on it.
      overwrite: replace an output file that exists.
    """

    input_files: str
    tokenizer: Literal["wordpiece", "bpe", "unigram"] = "wordpiece"
    output_file: str | None = None
    output_dir: str | None = None
    vocab_size: Annotated[int, Bounds(1)] = 30522
    do_lower_case: bool = True
    min_frequency: Annotated[int, Bounds(1)] = 2
    num_unused_tokens: Annotated[int, Bounds(0)] = wordpiece_learner.NUM_UNUSED_TOKENS
    alphabet_limit: Annotated[int, Bounds(1)] = wordpiece_learner.ALPHABET_LIMIT
    ascii_alphabet: bool = True
    user_defined_tokens: str | None = None
    merge_into: str | None = None
    merge_slots: Literal["unused", "append"] = "unused"
    max_words_in_memory: Annotated[int, Bounds(1000)] = 2_000_000
    text_field: str = "text"
    errors: Literal["fail", "skip"] = "fail"
    num_workers: Annotated[int, Bounds(0)] = 0
    overwrite: bool = False


def define_flags():
    declare_flags(Flags)


def main():
    settings = Flags(**flag_values(Flags))
    check_flags(settings.tokenizer)
    files = input_files(settings.input_files)
    require_text_field(settings.text_field, files)
    if settings.tokenizer == "wordpiece":
        learn_wordpiece(files, settings)
    else:
        write_other_tokenizer(files, settings)


def check_flags(tokenizer: str):
    """Raises ValueError for a flag that has no meaning for this tokenizer, and without an output."""
    meaningless = [name for name in _MEANINGLESS_FLAGS[tokenizer] if FLAGS[name].present]
    if meaningless:
        instead = "give --output_dir instead" if meaningless == ["output_file"] else "leave it out"
        raise ValueError(f"--{meaningless[0]} has no meaning with --tokenizer={tokenizer}; {instead}.")
    output = "output_file" if tokenizer == "wordpiece" else "output_dir"
    if not FLAGS[output].value:
        raise ValueError(f"--{output} is missing; it says where to write.")


def write_other_tokenizer(files: list[Path], settings: Flags):
    """Learns byte-level BPE or a unigram model, and writes the folder that --tokenizer of others reads."""
    folder = Path(str(settings.output_dir))
    check_output_folder(folder, [*files, *input_folders(settings.input_files)])
    require_free_folder(folder, settings.overwrite, tokenizer_files.files_beside_tokenizer, "a tokenizer")
    text_format = TextFormat(text_field=settings.text_field, errors=settings.errors)
    say_written_marks(files, text_format)
    vocabulary, problems = learn_tokenizer(
        settings.tokenizer, files, text_format, settings.vocab_size, settings.min_frequency
    )
    for line in problems.summary():
        logging.warning("%s", line)
    with whole_folder(folder, replace=settings.overwrite) as aside:
        tokenizer_files.write_tokenizer(aside, vocabulary)
    print(f"{folder}: {len(vocabulary)} tokens, {', '.join(vocabulary.files())}, tokenizer.json")


def learn_wordpiece(files: list[Path], settings: Flags):
    """Learns or extends a vocabulary of WordPieces, and writes its vocab.txt."""
    output_file = Path(str(settings.output_file))
    others = filter(None, (settings.merge_into, settings.user_defined_tokens))
    check_output_file(
        output_file, [*files, *input_folders(settings.input_files), *others], settings.overwrite
    )
    text_format = TextFormat(text_field=settings.text_field, errors=settings.errors)
    own_tokens = read_tokens(settings.user_defined_tokens) if settings.user_defined_tokens else []
    base = _base_vocabulary(settings)
    if base is None:
        check_vocab_size(settings.vocab_size, settings.num_unused_tokens, len(own_tokens))
    else:
        own_tokens = [token for token in own_tokens if token not in base.ids]
        room = room_in(base, settings.merge_slots, settings.vocab_size, len(own_tokens))
    rules = vars(WordPieceRules(settings.do_lower_case) if base is None else base.rules)
    say_written_marks(files, text_format)
    with WorkerPool(settings.num_workers or workers_worth(sum(map(text_bytes, files)))) as pool:
        if own_tokens:
            # Where there are workers, in one of them: this process then needs no TensorFlow.
            list(pool.map(functools.partial(check_tokens, **rules), [own_tokens]))
        most = settings.max_words_in_memory
        words = count_words(files, max_words_in_memory=most, text_format=text_format, pool=pool, **rules)
    for line in words.problems.summary():
        logging.warning("%s", line)
    if not words.counts:
        raise ValueError(NO_WORDS)
    if base is None:
        tokens = learn_new(words, own_tokens, settings)
        vocabulary = Vocabulary(tokens, settings.do_lower_case)
        lines = summary(vocabulary, words)
    else:
        vocabulary = extend(base, words, own_tokens, settings.merge_slots, room, settings.min_frequency)
        lines = merge_summary(base, vocabulary, words, settings.merge_slots)
    output_file.parent.mkdir(parents=True, exist_ok=True)
    vocabulary.write(output_file)
    print(f"{output_file}: {len(vocabulary)} tokens, {'un' if vocabulary.do_lower_case else ''}cased")
    print("\n".join(lines + warnings(vocabulary, words, own_tokens)))


# ------------------------------------------------------------------------------ what is asked for


def check_vocab_size(vocab_size: int, num_unused_tokens: int, num_user_defined_tokens: int):
    """Raises ValueError when special, unused and user-defined tokens leave no room for learned tokens."""
    reserved = len(BERT_TOKENS) + num_unused_tokens + num_user_defined_tokens
    if vocab_size <= reserved:
        raise ValueError(
            f"--vocab_size={vocab_size} has no room for learned tokens beside {len(BERT_TOKENS)} special, "
            f"{num_unused_tokens} unused and {num_user_defined_tokens} user-defined tokens; raise "
            "--vocab_size, or lower --num_unused_tokens."
        )


def _base_vocabulary(settings: Flags) -> Vocabulary | None:
    """The vocabulary to extend, if there is one."""
    if not settings.merge_into:
        if FLAGS["merge_slots"].present:
            raise ValueError(
                "--merge_slots has no effect without --merge_into; pass --merge_into too, or leave it out."
            )
        return None
    meaningless = [name for name in _FLAGS_OF_NEW_VOCABULARIES if FLAGS[name].present]
    if settings.merge_slots == "unused" and FLAGS["vocab_size"].present:
        meaningless.append("vocab_size")
    if meaningless:
        raise ValueError(
            f"--{meaningless[0]} has no meaning with --merge_into and --merge_slots={settings.merge_slots}: "
            "the existing vocabulary determines it; leave the flag out."
        )
    casing, path = FLAGS["do_lower_case"], formats.local_path(settings.merge_into)
    vocab_file, folder = (None, path) if path.is_dir() else (path, None)
    vocabulary = read_source(vocab_file, folder, casing.value if casing.present else None)
    return require_wordpiece(vocabulary, "--merge_into")


def room_in(base: Vocabulary, slots: str, vocab_size: int, num_own_tokens: int) -> int:
    """How many new tokens fit into the vocabulary.

    Raises:
      ValueError: when none fit, or fewer than there are user-defined tokens.
    """
    if slots == "unused":
        room = len(unused_slots(base.tokens))
        if not room:
            raise ValueError(
                "the vocabulary of --merge_into has no [unused] token left to replace; pass "
                "--merge_slots=append and a larger --vocab_size, and let the model's embedding table grow."
            )
    else:
        room = vocab_size - len(base)
        if room < 1:
            raise ValueError(
                f"the vocabulary of --merge_into has {len(base)} tokens, so --vocab_size={vocab_size} has no "
                f"room for more; expected at least {len(base) + 1}."
            )
    if num_own_tokens > room:
        raise ValueError(
            f"there are {num_own_tokens} user-defined tokens, but the vocabulary has room for {room}; give "
            "fewer, or pass --merge_slots=append and a larger --vocab_size."
        )
    return room


# ------------------------------------------------------------------------------ the vocabulary


def learn_new(words: WordCounts, own_tokens: list[str], settings: Flags) -> list[str]:
    """Learns the tokens of a new vocabulary, with these settings."""
    logging.info("Learning %d tokens from %d different words.", settings.vocab_size, len(words.counts))
    return wordpiece_learner.learn_wordpieces(
        words.counts,
        settings.vocab_size,
        min_frequency=settings.min_frequency,
        num_unused_tokens=settings.num_unused_tokens,
        alphabet_limit=settings.alphabet_limit,
        base_alphabet=ascii_alphabet(settings.do_lower_case) if settings.ascii_alphabet else (),
        user_defined_tokens=own_tokens,
    )


def ascii_alphabet(do_lower_case: bool) -> str:
    """The ASCII characters that words are made of."""
    letters = string.ascii_lowercase if do_lower_case else string.ascii_letters
    return string.punctuation + string.digits + letters


def extend(
    base: Vocabulary, words: WordCounts, own_tokens: list[str], slots: str, room: int, min_frequency: int
) -> Vocabulary:
    """Returns the vocabulary with the user-defined tokens added, and then the most useful new tokens."""
    logging.info("Learning up to %d tokens from %d different words.", room, len(words.counts))
    learned = wordpiece_learner.learn_more_wordpieces(
        [*base.tokens, *own_tokens], words.counts, room - len(own_tokens), min_frequency=min_frequency
    )
    pieces = [*own_tokens, *learned]
    tokens = fill_unused_slots(base.tokens, pieces) if slots == "unused" else [*base.tokens, *pieces]
    return base.with_tokens(tokens)


# ------------------------------------------------------------------------------ summary


def summary(vocabulary: Vocabulary, words: WordCounts) -> list[str]:
    """Lines that tell the user the result."""
    pieces_per_word, unknown = _fit(vocabulary, words)
    lines = [
        _words_line(words),
        f"tokens per word: {pieces_per_word:.3f}",
        f"unknown tokens: {unknown:.4f}%",
    ]
    if unknown > 1:
        lines.append("That is many unknown tokens: raise --alphabet_limit and --vocab_size.")
    return lines


def merge_summary(base: Vocabulary, vocabulary: Vocabulary, words: WordCounts, slots: str) -> list[str]:
    """Lines that compare the vocabulary before and after it was extended."""
    (pieces_before, unknown_before), (pieces_after, unknown_after) = (
        _fit(base, words),
        _fit(vocabulary, words),
    )
    num_new = len(set(vocabulary.tokens) - set(base.tokens))
    lines = [
        _words_line(words),
        f"tokens per word: {pieces_before:.3f} before, {pieces_after:.3f} now",
        f"unknown tokens: {unknown_before:.4f}% before, {unknown_after:.4f}% now",
    ]
    if slots == "unused":
        lines.append(
            f"{num_new} new tokens replace [unused] tokens; {len(unused_slots(vocabulary.tokens))} [unused] "
            "tokens are left. All ids and the model's size stay the same; the embeddings of the new tokens "
            "are untrained (kbert convert --vocab_file adapts a model to this vocabulary)."
        )
    else:
        lines.append(
            f"{num_new} new tokens follow at the end. All ids stay the same, but a model of {len(base)} "
            f"tokens has to be resized: its word embedding table and masked LM bias to {len(vocabulary)} "
            "rows, the new ones untrained (kbert convert --vocab_file does this)."
        )
    return lines


def _fit(vocabulary, words) -> tuple[float, float]:
    """How well a vocabulary fits a corpus: tokens per word, and the percentage of unknown tokens."""
    covered = coverage(words.counts, vocabulary.tokens)
    return covered.num_pieces / covered.num_words, 100 * covered.num_unknown / covered.num_pieces


def _words_line(words):
    return f"words: {words.counts.total():,}, different: {len(words.counts):,}"


def warnings(vocabulary: Vocabulary, words: WordCounts, own_tokens: list[str]) -> list[str]:
    """Lines on what else the user should know."""
    lines = []
    if words.num_dropped_long:
        others = sum(len(word) * number for word, number in words.counts.items())
        share = words.long_characters / (words.long_characters + others)
        lines.append(
            f"words too long for WordPiece, each [UNK], not counted: {words.num_dropped_long:,}, "
            f"{100 * share:.1f}% of the text{f'. {WITH_BLANKS}' if share > _MUCH else ''}"
        )
    if words.highest_dropped_count:
        lines.append(
            f"rare words left out: seen up to {words.highest_dropped_count} times (raise "
            "--max_words_in_memory to keep them)"
        )
    if words.num_marked:
        lines.append(
            f"accents, umlauts and vowel signs are dropped, as in BERT's uncased models: of "
            f"{words.num_marked:,} running words, such as {words.marked[:40]!r}; --nodo_lower_case, here and "
            "in every command with --vocab_file, keeps them and the case"
        )
    if markers := [token for token in own_tokens if is_marker(token)]:
        lines.append(f"markers, never found in text; only programs insert their ids: {', '.join(markers)}")
    return lines


if __name__ == "__main__":
    define_flags()
    script.run(main)
