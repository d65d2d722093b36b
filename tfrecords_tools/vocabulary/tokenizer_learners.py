"""Lines of text -> a vocabulary of byte-level BPE or of SentencePiece's unigram model.

The packages `tokenizers` and `sentencepiece` learn; the second holds the whole text in memory. The same lines
give the same bytes.
"""

import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from absl import logging

from kbert.cli.progress import Progress, activity
from kbert.tokenization.base_vocabulary import ROBERTA_TOKENS, BaseVocabulary
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import WORD_START, SentencePieceVocabulary
from tfrecords_tools.corpus.corpus_files import text_bytes
from tfrecords_tools.corpus.documents import TextFormat, plan_units, read_unit_lines
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.vocabulary.wordpiece_learner import ALPHABET_LIMIT

_FIRST = ("<s>", "<pad>", "</s>", "<unk>")  # of RoBERTa's and XLM-R's ids; <mask> is the last
_LONGEST_LINE = 1 << 30  # bytes; by default sentencepiece leaves longer lines than 4,192 out
_MUCH_TEXT = 1 << 29  # bytes, of which sentencepiece needs 10 GB
_SMALLEST_BPE = len(_FIRST) + len(BYTE_CHARACTERS) + 1
_SMALLEST_UNIGRAM = len(_FIRST) + 3  # <mask>, the mark of a space, a character
_NORMALIZATION = "nmt_nfkc"  # Unicode's NFKC, but for marks such as the Japanese "～"
_RESERVED = "\u2585"  # in sentencepiece's training an unknown character: lines that hold it are left out
_SIGNS = (
    " Byte-level BPE cuts words at vowel signs: of Hindi, Thai and their like no text gives more; take "
    "--tokenizer=unigram."
)
NO_WORDS = "the input files hold no words; expected a corpus with some text."


def learn_bpe(lines: Iterable[str], vocab_size: int, min_frequency: int = 2) -> BytePairVocabulary:
    """Learns merges of bytes, in words as GPT-2 splits them.

    Args:
      lines: the text.
      vocab_size: how many tokens, special ones included. Fewer are learned from a small text.
      min_frequency: merge only pairs at least this frequent.

    Raises:
      ValueError: for a `vocab_size` without room for the bytes and the special tokens.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    if vocab_size < _SMALLEST_BPE:
        raise ValueError(
            f"vocab_size={vocab_size} is too small for byte-level BPE, which has 256 bytes and "
            f"{len(ROBERTA_TOKENS)} special tokens; give at least {_SMALLEST_BPE}."
        )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - 1,
        min_frequency=min_frequency,
        special_tokens=list(_FIRST),
        initial_alphabet=list(BYTE_CHARACTERS),
        show_progress=False,
    )
    tokenizer.train_from_iterator(lines, trainer)
    merges = [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
    # Several merges may make the same token.
    made = dict.fromkeys(left + right for left, right in merges)
    return BytePairVocabulary([*_FIRST, *BYTE_CHARACTERS, *made, ROBERTA_TOKENS.mask], merges)


def learn_unigram(lines: Iterable[str], vocab_size: int) -> SentencePieceVocabulary:
    """Learns a unigram model with XLM-R's normalization (nmt_nfkc) and numbering.

    Of the characters it leaves out the rarest, 1 of 2,000 running ones as sentencepiece does by itself, but
    never the most frequent `ALPHABET_LIMIT` (or half of `vocab_size`) nor those of ASCII: of prose in few
    letters the rarest are digits, brackets and capitals.

    Args:
      lines: the text.
      vocab_size: how many tokens, special ones included. Fewer are learned from a small text.

    Raises:
      ValueError: for a `vocab_size` without room for the characters of the text, and for a text without any.
    """
    from sentencepiece import SentencePieceNormalizer, SentencePieceTrainer

    if vocab_size < _SMALLEST_UNIGRAM:
        raise ValueError(
            f"vocab_size={vocab_size} is too small for a unigram model; give at least {_SMALLEST_UNIGRAM}."
        )
    model, counts = io.BytesIO(), Counter[str]()
    lines = [line.replace(_RESERVED, " ") for line in lines]
    normalizer = SentencePieceNormalizer(rule_name=_NORMALIZATION)
    for line in lines:
        counts.update(normalizer.normalize(line).replace(WORD_START, " "))
    frequent = [char for char, _ in counts.most_common(min(ALPHABET_LIMIT, vocab_size // 2))]
    kept = sorted(char for char in {*frequent, *filter(str.isascii, counts)} if char.isprintable())
    try:
        SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            model_type="unigram",
            normalization_rule_name=_NORMALIZATION,
            required_chars="".join(kept).replace(" ", ""),
            vocab_size=vocab_size - 2,  # XLM-R's <pad> and <mask> are no pieces
            hard_vocab_limit=False,
            max_sentence_length=_LONGEST_LINE,
            num_threads=1,  # sums of several depend on their number
            minloglevel=2,
        )
    except RuntimeError as error:
        if re.search(r"all_chars_count|sentences_\.empty", str(error)):
            raise ValueError(NO_WORDS) from None
        characters = re.search(r"required_chars\. \d+ vs (\d+)", str(error))
        if not characters:
            raise
        raise ValueError(
            f"vocab_size={vocab_size} is too small for a unigram model of this text: its characters need "
            f"{int(characters[1]) + 2}."
        ) from None
    vocabulary = SentencePieceVocabulary(model.getvalue())
    known = {" ", *vocabulary.ids}
    left_out = {char: counts[char] for char in counts if char.isprintable() and char not in known}
    if left_out:
        logging.warning(
            "%d rare characters are unknown tokens, %.4f%% of the text, such as %s.",
            *(len(left_out), 100 * sum(left_out.values()) / counts.total(), " ".join([*left_out][:20])),
        )
    return vocabulary


def learn_tokenizer(
    kind: str, files: list[Path], text_format: TextFormat, vocab_size: int, min_frequency: int
) -> tuple[BaseVocabulary, Problems]:
    """Learns from the lines of a corpus.

    Args:
      kind: "bpe" or "unigram".
      files: those that `input_files` returns.
      text_format: how to read them.
      vocab_size, min_frequency: as for the functions above.

    Returns:
      The vocabulary, and the lines that could not be read, with `errors="skip"`.

    Raises:
      ValueError: for files without text, what cannot be read, and as the functions above.
    """
    problems = Problems()
    lines = _read_lines(files, text_format, problems)
    first = next(lines, None)
    if first is None:
        raise ValueError(NO_WORDS)
    lines = (line for part in ([first], lines) for line in part)
    if kind == "unigram" and sum(map(text_bytes, files)) > _MUCH_TEXT:
        logging.warning(
            "A unigram model is learned from the whole text in memory, with some 20 bytes for each of its "
            "bytes: take a part of it, such as shuf -n 5000000 OLD > NEW."
        )
    with activity(f"learning {vocab_size:,} tokens"):
        if kind == "bpe":
            vocabulary: BaseVocabulary = learn_bpe(lines, vocab_size, min_frequency)
        else:
            vocabulary = learn_unigram(lines, vocab_size)
    if len(vocabulary) < vocab_size:
        logging.warning(
            "The corpus gives only %d tokens, but %d were asked for. Use more text, or ask for vocab_size="
            "%d.%s",
            *(len(vocabulary), vocab_size, len(vocabulary), _SIGNS if kind == "bpe" else ""),
        )
    return vocabulary, problems


def _read_lines(files, text_format, problems) -> Iterator[str]:
    progress = Progress("Read", "bytes", sum(map(text_bytes, files)))
    done = 0
    for unit in plan_units(files, 1 << 62):
        for line in read_unit_lines(unit, text_format, problems):
            done += len(line) + 1
            progress.report(done)
            yield line.decode("utf-8")
    progress.report_end()
