"""How a corpus is written, where that is not running text: marks of other programs, damage, broken lines."""

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from absl import logging

from kbert.input_pipelines.text_lines import DamagedLines
from kbert.tokenization.base_vocabulary import BERT_TOKENS, BaseVocabulary
from kbert.tokenization.written_tokens import looked_at
from tfrecords_tools.corpus.documents import TextFormat, plan_units, read_unit_lines
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.work.worker_pool import byte_batches

# Of BERT, RoBERTa and GPT-2, of language models' corpora (WikiText, Penn Treebank), of Moses' tokenizer. Not
# <s>, which HTML has too.
_MARKS = (*BERT_TOKENS, "<unk>", "<pad>", "<mask>", "</s>", "<eos>", "<|endoftext|>", "@-@", "@,@", "@.@")
_WRITTEN = (
    *(("", re.compile(re.escape(mark.encode()))) for mark in _MARKS),
    ("lines of marks such as ", re.compile(rb"^<[^<>\n]+>$", re.MULTILINE)),  # as in Europarl's source
    ("characters of HTML such as ", re.compile(rb"&(?:#\d+|[a-z]+);")),  # by Moses' tokenizer, too
    ("line ends written as ", re.compile(rb"(?<!\\)\\n(?=\\|\s|[A-Z])")),
)
_SOURCE = "the beginning of the corpus"
_WIDEST, _FULL, _BROKEN = 120, 0.7, 0.4  # characters of a line; parts of a line and of all lines
_BYTES = 1 << 20  # that are looked at
_RARE, _FEW = 50_000, 2  # bytes to a mark, and marks: a text on BERT may name [SEP], in a small corpus too


def say_written_marks(
    files: Iterable[Path], text_format: TextFormat, vocabulary: BaseVocabulary | None = None
):
    """Warns, before any work, where the beginning of a corpus has a mark more often than texts name it, is
    damaged, has its lines broken at a width, or what `looked_at` says.

    Args:
      files: those that `input_files` returns.
      text_format: how to read them.
      vocabulary: the one that reads the corpus, where there is one.

    Raises:
      ValueError: as `read_unit_lines`.
    """
    units = (unit for file in files for unit in plan_units([file], _BYTES))
    all_lines = (line for unit in units for line in read_unit_lines(unit, text_format, Problems()))
    text = b"\n".join(next(byte_batches(all_lines, _BYTES), []))
    counted = ((what, pattern.findall(text)) for what, pattern in _WRITTEN)
    what, marks = max(counted, key=lambda pair: len(pair[1]))
    if len(marks) > max(_FEW, len(text) / _RARE):
        logging.warning(
            "The first %s bytes of the corpus hold %s %s times, which another program wrote there and which "
            "is read as characters: take texts without such marks, or replace them, one between documents by "
            "a blank line, WikiText's @-@ by a hyphen, HTML's by html.unescape, line ends by blanks.",
            *(f"{len(text):,}", what + marks[0].decode()[:80], f"{len(marks):,}"),
        )
    lines = text.decode().split("\n")
    damaged = DamagedLines(_SOURCE, "utf-8")
    for line in lines:
        damaged.look_at(line)
    damaged.say(len(lines))
    if vocabulary:
        list(looked_at(lines, vocabulary, _SOURCE))
    _say_broken_lines(lines)


def _say_broken_lines(lines):
    width = sorted(map(len, lines))[len(lines) * 19 // 20]  # of all but chapters in one line
    broken = sum(
        line[-1:].isalnum() and after[:1].islower() and len(line) > _FULL * width
        for line, after in pairwise(lines)
    )
    if width <= _WIDEST and broken > _BROKEN * len(lines):
        logging.warning(
            "%s: lines are broken at about %d characters, in the middle of sentences, and each is read as a "
            "sentence of its own. Join those of a paragraph, in JSON lines within a text, in text files by "
            "tr -d '\\r' < OLD | awk 'BEGIN {RS=\"\"} {gsub(/\\n/, \" \")} 1' > NEW",
            *(_SOURCE, width),
        )
