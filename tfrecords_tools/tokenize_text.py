r"""Script: lines of text -> their ids and tokens, to look at or to compare with another tokenizer.

  echo 'Hello, world!' | kbert tokenize --vocab_file=vocab.txt
  kbert tokenize --tokenizer=FOLDER --format=jsonl < texts.jsonl

Reads lines from standard input and writes one JSON object per line, in the same order:
{"text": ..., "ids": [...], "tokens": [...]}, without special tokens.
"""

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, BinaryIO, Literal

from kbert.bounds import Bounds
from kbert.checkpoints.vocabulary_source import read_source
from kbert.cli import script
from kbert.cli.declared_flags import declare_flags, flag_values
from kbert.cli.progress import Progress, awaited
from kbert.files.json_file import json_line, parse_json
from kbert.files.text_file import bounded_lines, decoded_lines
from kbert.tokenization.base_vocabulary import BaseVocabulary
from tfrecords_tools.corpus.first_in_python import first_in_python

_BYTES_IN_PYTHON = 1 << 20  # of text that takes Python a second or two; TensorFlow takes longer to load


@dataclass(frozen=True)
class Lines:
    """How lines are read and written.

    Args:
      format: lines of text, or JSON objects with a `text`.
      batch_size: lines to tokenize and print at a time.
    """

    format: Literal["text", "jsonl"] = "text"
    batch_size: Annotated[int, Bounds(1)] = 512


def define_flags():
    declare_flags(read_source, defaults={"vocab_file": None, "tokenizer": None})
    declare_flags(Lines)


def main():
    vocabulary, how = read_source(**flag_values(read_source)), Lines(**flag_values(Lines))
    lines = bounded_lines(sys.stdin.buffer, "standard input")
    if not sys.stdout.isatty():  # on a terminal the output itself shows how far it is
        lines = report_bytes(lines, Progress("Tokenized", "bytes", bytes_left(sys.stdin.buffer)))
    texts = read_texts(lines, how.format)
    for line in tokenized_lines(texts, vocabulary, how.batch_size):
        sys.stdout.buffer.write(line)


def bytes_left(stream: BinaryIO) -> int | None:
    """How many bytes a stream still holds; None of a terminal or a pipe."""
    status = os.fstat(stream.fileno())
    return status.st_size - stream.tell() if stat.S_ISREG(status.st_mode) else None


def report_bytes(lines: Iterable[bytes], progress: Progress) -> Iterator[bytes]:
    """The lines; reports the bytes of those that were taken."""
    done = 0
    for line in lines:
        yield line
        done += len(line)
        progress.report(done)


def read_texts(stream: Iterable[bytes], file_format: str) -> Iterator[str]:
    r"""Yields the texts of a stream of lines.

    Args:
      stream: lines of bytes, as `decoded_lines` takes them. Only "\n" ends a line.
      file_format: "text", one text per line; or "jsonl", objects with a string `text`, blank lines skipped.

    Raises:
      ValueError: naming the line that is not UTF-8, or not such an object.
    """
    for number, line in enumerate(decoded_lines(awaited(stream), "standard input"), start=1):
        if file_format == "text":
            yield line
        elif line.strip():
            yield _parse_text(line, number)


def _parse_text(line, number):
    row = parse_json(line, f"standard input, line {number}")
    if not isinstance(row, dict) or not isinstance(row.get("text"), str):
        raise ValueError(
            f"standard input, line {number}: expected an object with a string `text`, received "
            f"{line.strip()[:80]}; plain text is read with --format=text."
        )
    return row["text"]


def tokenized_lines(texts: Iterable[str], vocabulary: BaseVocabulary, batch_size: int) -> Iterator[bytes]:
    """Yields, for each text, a line of JSON in UTF-8 with the text as read, its ids and its tokens."""
    texts, tokenize = iter(texts), first_in_python(vocabulary, _BYTES_IN_PYTHON)
    while batch := list(islice(texts, batch_size)):
        # JSON can spell half of a surrogate pair, which is no character and has no UTF-8. It is dropped
        # before WordPiece, as the original drops bytes that are not UTF-8.
        encoded = [text.encode("utf-8", errors="ignore") for text in batch]
        for text, ids in zip(batch, tokenize(encoded), strict=True):
            row = {"text": text, "ids": ids, "tokens": [vocabulary.tokens[index] for index in ids]}
            yield json_line(row).encode("utf-8")


if __name__ == "__main__":
    define_flags()
    script.run(main)
