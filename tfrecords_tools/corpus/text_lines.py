"""Corpus files -> lines, in UTF-8 bytes, a block of them at a time. Standard library only.

Checking each line costs more than reading it. So a check covers a whole block where that is enough: whether
it is UTF-8, whether it holds anything but ASCII, whether it begins before a place in the file.
"""

from collections.abc import Callable, Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from kbert.files.text_file import BREAK_LONG_LINES, LONGEST_LINE, WHY_TOO_LONG
from tfrecords_tools.corpus.corpus_files import CHUNK_BYTES, DamagedFile, read_chunks
from tfrecords_tools.corpus.problems import Problem

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

# The characters that str.strip removes: those of ASCII for bytes.strip, the others (up to U+3000) in UTF-8.
_ASCII_SPACES = bytes(code for code in range(0x80) if chr(code).isspace())
_OTHER_SPACES = frozenset(chr(code).encode() for code in range(0x80, 0x3001) if chr(code).isspace())


class LineBlock(NamedTuple):
    """Lines that follow each other in a file.

    Attributes:
      number: the number of the first line; the line where reading began has number 1.
      offset: the byte of the file where the first line begins.
      end: the byte after the last line.
      raw: the lines as they are, without the line feeds; b"" for one that is too long.
      stripped: the lines without white space at both ends; None for one that is left out: it is not UTF-8, or
        longer than LONGEST_LINE. Such a long line is alone in its block.
    """

    number: int
    offset: int
    end: int
    raw: list[bytes]
    stripped: list[bytes | None]

    def index_at(self, position: float) -> int:
        """Index of the first line that begins at byte `position` or later; if none, the number of lines."""
        if position <= self.offset:
            return 0
        if position > self.end:
            return len(self.raw)
        for index, begin in enumerate(accumulate(map(len, self.raw), initial=self.offset)):
            if begin + index >= position:  # there are `index` line feeds before
                return index
        return len(self.raw)


def read_line_blocks(
    path: str | Path, start: int, report: Callable[[int, Problem], None]
) -> Iterator[LineBlock]:
    """Yields the lines of a file from byte `start` on. Only line feeds end a line.

    Args:
      path: the file. A byte order mark at its beginning is left out.
      start: where to begin; it must be the beginning of a line.
      report: called for a damaged compressed file, with the number of the first line that could not be read
        and the `Problem`.
    """
    number, offset = 1, start
    try:
        for text in _whole_lines(path, start):
            if isinstance(text, int):
                yield LineBlock(number, offset, offset + text, [b""], [None])
                number, offset = number + 1, offset + text + 1
                continue
            if offset == 0 and text.startswith(_BYTE_ORDER_MARK):
                offset = len(_BYTE_ORDER_MARK)
                text = text[offset:]
            raw = text.split(b"\n")
            end = offset + len(text)
            yield LineBlock(number, offset, end, raw, _stripped_lines(text, raw))
            number += len(raw)
            offset = end + 1  # the line feed
    except DamagedFile as error:
        what = f"cannot be unpacked: {error}"
        report(number, Problem("ends left out, damaged compressed files", what, "copy or compress it again"))


def start_of_line(path: str | Path, position: int) -> int:
    """The byte where the line begins to which the byte at `position` belongs. A line feed ends its line.

    Of a line that begins more than LONGEST_LINE before, a byte in its middle.
    """
    furthest = position - LONGEST_LINE
    if position <= 0:
        return 0
    with open(path, "rb") as stream:
        while position > max(0, furthest):
            begin = max(0, position - CHUNK_BYTES)
            stream.seek(begin)
            line_feed = stream.read(position - begin).rfind(b"\n")
            if line_feed >= 0:
                return begin + line_feed + 1
            position = begin
    return position


def strip(line: bytes) -> bytes:
    """`str.strip` of a line of UTF-8: the white space of Unicode counts, not only that of ASCII."""
    line = line.strip(_ASCII_SPACES)
    if line and (line[0] >= 0x80 or line[-1] >= 0x80):
        # In UTF-8 no character's bytes begin or end another's; white space here has two or three bytes.
        ends = (line[:2], line[:3], line[-2:], line[-3:])
        if not _OTHER_SPACES.isdisjoint(ends):
            return line.decode("utf-8").strip().encode("utf-8")
    return line


def why_left_out(line: bytes) -> Problem:
    """What is wrong with a line of a `LineBlock`, as it is in `raw`, that is None in `stripped`."""
    if not line:
        return Problem("lines left out, too long", WHY_TOO_LONG, BREAK_LONG_LINES)
    try:
        line.decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 (byte 0x{line[error.start]:02x})"
    remedy = "convert it, for example: iconv -f WINDOWS-1252 -t UTF-8"
    return Problem("lines left out, not UTF-8", what, remedy)


def _stripped_lines(text, lines) -> list[bytes | None]:
    if text.isascii():
        return [line.strip(_ASCII_SPACES) for line in lines]
    if _is_utf8(text):
        return list(map(strip, lines))
    return [strip(line) if _is_utf8(line) else None for line in lines]


def _is_utf8(text) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _whole_lines(path, start) -> Iterator[bytes | int]:
    """Yields lines joined by line feeds, the last line feed left out; of too long a line, its size."""
    begun, size = [], 0  # the pieces of a line whose end has not been read yet
    for chunk in read_chunks(path, start):
        first, line_feed, others = chunk.partition(b"\n")
        size += len(first)
        if size <= LONGEST_LINE:
            begun.append(first)
        else:
            begun = []
        if not line_feed:
            continue
        head, line_feed, tail = others.rpartition(b"\n")
        whole = [head] if line_feed else []
        if size > LONGEST_LINE:
            yield size
        else:
            whole = [b"".join(begun), *whole]
        if whole:
            yield b"\n".join(whole)
        begun, size = [tail], len(tail)
    if size > LONGEST_LINE:
        yield size
    elif size:
        yield b"".join(begun)
