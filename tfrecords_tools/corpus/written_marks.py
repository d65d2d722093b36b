"""Marks that other programs wrote into a corpus."""

import re
from collections.abc import Iterable
from pathlib import Path

from absl import logging

from kbert.tokenization.base_vocabulary import BERT_TOKENS
from tfrecords_tools.corpus.documents import TextFormat, plan_units, read_unit_lines
from tfrecords_tools.corpus.problems import Problems
from tfrecords_tools.work.worker_pool import byte_batches

# Of BERT, RoBERTa and GPT-2, of language models' corpora (WikiText, Penn Treebank), of Moses' tokenizer. Not
# <s>, which HTML has too.
_MARKS = (*BERT_TOKENS, "<unk>", "<pad>", "<mask>", "</s>", "<eos>", "<|endoftext|>", "@-@", "@,@", "@.@")
_TAG = re.compile(rb"^<[^<>\n]+>$", re.MULTILINE)  # alone in its line, as in Europarl's source
_BYTES = 1 << 20  # that are looked at
_RARE, _FEW = 50_000, 2  # bytes to a mark, and marks: a text on BERT may name [SEP], in a small corpus too


def say_written_marks(files: Iterable[Path], text_format: TextFormat):
    """Warns, before any work, where the beginning of a corpus has a mark more often than texts name it.

    Args:
      files: those that `input_files` returns.
      text_format: how to read them.

    Raises:
      ValueError: as `read_unit_lines`.
    """
    units = (unit for file in files for unit in plan_units([file], _BYTES))
    lines = (line for unit in units for line in read_unit_lines(unit, text_format, Problems()))
    text = b"\n".join(next(byte_batches(lines, _BYTES), []))
    counts = {mark: text.count(mark.encode()) for mark in _MARKS}
    if tags := _TAG.findall(text):
        counts[f"lines of marks such as {tags[0].decode()[:80]}"] = len(tags)
    mark = max(counts, key=counts.__getitem__)
    if counts[mark] > max(_FEW, len(text) / _RARE):
        logging.warning(
            "The first %s bytes of the corpus hold %s %s times, which another program wrote there and which "
            "is read as characters: take texts without such marks, or replace them, one between documents by "
            "a blank line, WikiText's @-@ by a hyphen.", f"{len(text):,}", mark, f"{counts[mark]:,}",
        )  # fmt: skip
