"""Lines -> chunks, all at once: parts whose tokens, one after another, are those of the line."""

import re
import string
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.bpe.bpe_vocabulary import BytePairVocabulary
from kbert.tokenization.core_ops.code_points import TABLES, ranges
from kbert.tokenization.vocabulary import Vocabulary

# Kinds of bytes. A chunk begins with a byte of a higher kind than the one before it. To the byte behind it,
# the last byte of what is a chunk alone is as white space is: of the kind in its lower two bits.
_BETWEEN, _INSIDE, _LEADING, _ALONE = 0, 1, 2, 4
_TO_THE_NEXT = 3
_WHITE_SPACE = b" \t\n\r"
_SIGMA = "Σ".encode()
# GPT-2's white space beyond ASCII, where Python's is the same.
_LONG_SPACES = re.compile("|".join(filter(str.isspace, map(chr, range(0x80, 0x3001)))).encode())


class Chunks(NamedTuple):
    """The chunks of lines.

    Args:
      text: the lines, each between two line feeds; more follow at the end.
      starts, ends: int64 (chunks,), where each stands in `text`. None is empty.
      line_starts: int64 (lines + 1,): line i is the chunks from line_starts[i] up to line_starts[i + 1].
    """

    text: bytes
    starts: np.ndarray
    ends: np.ndarray
    line_starts: np.ndarray


class ChunkCutter:
    """Cuts lines where no token and no rule of a vocabulary reaches across.

    WordPiece is cut at white space, around punctuation, and around ideographs where each is a word. One rule
    reaches across punctuation: a capital sigma becomes a final one where no letter follows, past full stops
    and apostrophes. So where texts are lower-cased, lines beside one are cut at white space alone. Byte-level
    BPE is cut where white space begins, and not inside of it, where words of GPT-2's pattern go on. A line
    for SentencePiece is one chunk.

    Args:
      vocabulary: the `BaseVocabulary`.
      padding: how many line feeds end the text, at least 2.

    Call arguments:
      lines: UTF-8 bytes; others may stand between them.

    Returns:
      `Chunks`. ASCII letters are lower-cased where the vocabulary lower-cases texts.
    """

    def __init__(self, vocabulary: BaseVocabulary, padding: int):
        self._padding, self._lower = padding, bool(vocabulary.do_lower_case)
        self._kinds, self._kinds_beside_sigma = _kinds(), _kinds(between=_WHITE_SPACE)
        self._is_alone = np.zeros(1 << 16, bool)  # of characters of three bytes
        self._is_byte_pairs = isinstance(vocabulary, BytePairVocabulary)
        if self._is_byte_pairs:
            self._kinds = _kinds(leading=b" \t\n\v\f\r")
        elif isinstance(vocabulary, Vocabulary):
            self._kinds = _kinds(between=_WHITE_SPACE, alone=string.punctuation.encode())
            tables = ["punctuation"] + ["ideographs"] * vocabulary.rules.tokenize_chinese_chars
            for first, last in (pair for table in tables for pair in ranges(TABLES[table])):
                self._is_alone[max(first, 0x800) : last + 1] = True

    def __call__(self, lines: Sequence[bytes]) -> Chunks:
        text = b"\n".join([b"", *lines, b"\n" * self._padding])
        line_ends = np.cumsum(np.fromiter(map(len, lines), np.int64, len(lines)) + 1)
        text = text.lower() if self._lower else text
        kinds, to_the_next = self._kinds_of_bytes(text)
        for values in (kinds, to_the_next):
            values[0] = values[line_ends] = values[-self._padding :] = _BETWEEN
        is_start = kinds[1:] > to_the_next[:-1]
        is_end = (is_start | (kinds[1:] == _BETWEEN)) & (kinds[:-1] > _BETWEEN)
        starts = np.flatnonzero(is_start) + 1
        return Chunks(text, starts, np.flatnonzero(is_end) + 1, np.searchsorted(starts, [0, *line_ends]))

    def _kinds_of_bytes(self, text):
        """(what each byte is, what it is to the byte behind it): two of uint8 (bytes,)."""
        has_sigma = self._lower and _SIGMA in text
        table = self._kinds_beside_sigma if has_sigma else self._kinds
        kinds = np.frombuffer(bytearray(text.translate(table)), np.uint8)
        to_the_next = kinds & _TO_THE_NEXT
        if text.isascii():
            return kinds, to_the_next
        if self._is_byte_pairs:
            to_the_next[[space.end() - 1 for space in _LONG_SPACES.finditer(text)]] = _LEADING
        elif not has_sigma:
            codes = np.frombuffer(text, np.uint8)
            leads = np.flatnonzero(codes & 0xF0 == 0xE0)
            second, third = (codes[leads + offset].astype(np.int32) ^ 0x80 for offset in (1, 2))
            characters = (codes[leads].astype(np.int32) & 15) << 12 | second << 6 | third
            leads = leads[(second < 64) & (third < 64) & self._is_alone[characters]]
            kinds[leads], to_the_next[leads + 2] = _ALONE, _BETWEEN
        return kinds, to_the_next


def _kinds(between=b"", leading=b"", alone=b"") -> bytes:
    """The kind of every byte, for `bytes.translate`."""
    kinds = bytearray([_INSIDE]) * 256
    for kind, members in ((_BETWEEN, between), (_LEADING, leading), (_ALONE, alone)):
        for byte in members:
            kinds[byte] = kind
    return bytes(kinds)
