"""Text files, plain or compressed, line by line. Standard library only, except for `.zst`."""

import codecs
import contextlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.files.compression import beginning, find_compression, find_opener
from kbert.files.file_format import path_problem, require_text_format
from kbert.files.text_encoding import (
    BLOCK,
    UTF8_MARK,
    cuts_at_line_feeds,
    holds_utf8,
    how_to_convert,
    marked_encoding,
    unmarked_wide_encoding,
)

# A line is held in memory several times. The Bible has 4 MB.
LONGEST_LINE = 1 << 26  # bytes, or characters of a stream of text
_TOO_LONG = f"is longer than {LONGEST_LINE >> 20} MiB, the longest line that is read"
_BREAK_IT = "break the text into lines, for example with fold -s"
_BYTES_SKIPPED_AT_ONCE = 1 << 20
_NOT_DECODED = "lines left out, not UTF-8"


class Problem(NamedTuple):
    """Why a line cannot be read: the kind under which it is counted, what is wrong, and how to fix it.

    `undecoded` has the bytes of a line that is not in the encoding of its file, and is empty for others.
    """

    kind: str
    what: str
    remedy: str
    undecoded: bytes = b""


def read_lines(path: str | Path, encoding: str | None = None) -> Iterator[str]:
    """Yields the lines of a text file without their line feeds, one at a time.

    Args:
      path: the file, read as by `numbered_lines`.
      encoding: as for `find_encoding`.

    Raises:
      ValueError: for a line that is a `Problem`, naming file and line; for a missing file; and for a format
        that kbert does not read.
    """
    require_text_file(path)
    require_line_feeds(path)
    if encoding:
        encoding = find_encoding(path, encoding)
    for number, _, line in numbered_lines(path, encoding=encoding):
        if isinstance(line, Problem):
            raise ValueError(f"{path} line {number} {line.what}; {line.remedy}.")
        yield line


@contextlib.contextmanager
def utf8_bytes(path: str | Path) -> Iterator:
    """The bytes of a text file, open and unpacked, in UTF-8 without a byte order mark.

    Raises:
      ValueError: as `find_encoding` does.
    """
    encoding = find_encoding(path)
    with find_opener(path)(path, "rb") as stream:
        if encoding != "utf-8":
            with io.TextIOWrapper(stream, encoding, newline="") as text:
                yield _AsUtf8(text)
            return
        if stream.read(len(UTF8_MARK)) != UTF8_MARK:
            stream.seek(0)
        yield stream


class _AsUtf8:
    """The bytes of an open text in UTF-8. `read` takes a number of characters."""

    def __init__(self, text):
        self._text = text

    def read(self, size=-1) -> bytes:
        return self._text.read(size).encode("utf-8")


def require_text_file(path: str | Path, what: str = "text"):
    """Raises ValueError for a missing file, for a folder, and for a format that kbert does not read as text.

    Args:
      path: the file; its name and its first bytes are looked at.
      what: what is expected, for the message.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} is a folder, not a text file." if path.is_dir() else
                         f"{path} {path_problem(path)}.")  # fmt: skip
    require_text_format(path, what)


def require_line_feeds(path: str | Path):
    """Refuses a plain file in which carriage returns alone end lines: it would be read as a single line."""
    if find_compression(path):
        return
    first = beginning(path, BLOCK)
    if b"\n" not in first and b"\r" in first.rstrip(b"\r"):
        raise ValueError(
            f"{path} has carriage returns, but no line feeds, at the ends of its lines, as on old Macs; "
            "convert it: tr '\\r' '\\n' < OLD > NEW."
        )


def find_encoding(path: str | Path, encoding: str | None = None) -> str:
    """The encoding of a text file: what its byte order mark says, or UTF-8; else the one that is asked for.

    A file may be UTF-8 though another encoding is asked for, which other files of the same kind have. That is
    said, and seen where its first characters beyond ASCII stand, because other text is hardly ever valid
    UTF-8.

    Raises:
      ValueError: for UTF-16 and UTF-32 without a mark where nothing is asked for.
    """
    own, wanted = _own_encoding(path, encoding), encoding and codecs.lookup(encoding).name
    if wanted and not (wanted.startswith(own) or own.startswith(wanted)):
        warn_once(f"{path} is {own.upper()}, and is read so in spite of dataset.encoding={encoding!r}")
    return own


def _own_encoding(path, encoding):
    first = beginning(path, BLOCK if encoding else len(codecs.BOM_UTF32_LE))
    if marked := marked_encoding(first):
        return marked
    if encoding is None:
        if wide := unmarked_wide_encoding(first):
            raise ValueError(f"{path} {_unmarked(wide).what}; {_unmarked(wide).remedy}.")
        return "utf-8"
    encoding = codecs.lookup(encoding).name.removesuffix("-sig")
    if (wide := unmarked_wide_encoding(first)) and wide.startswith(encoding):
        return wide  # "utf-16" alone would need a mark
    if cuts_at_line_feeds(encoding):
        first = beginning(path, BLOCK, beyond_ascii=True)
    return "utf-8" if holds_utf8(first, encoding) else encoding


def has_line_feeds_as_bytes(path: str | Path) -> bool:
    """Whether a plain file can be cut at its line feeds without decoding it: not UTF-16 and UTF-32."""
    with open(path, "rb") as stream:
        first = stream.read(len(codecs.BOM_UTF32_LE))
    return cuts_at_line_feeds(marked_encoding(first) or unmarked_wide_encoding(first) or "utf-8")


def _unmarked(wide):
    return Problem(
        "files left out, UTF-16 or UTF-32 without a mark",
        f"is {wide.upper()} without a byte order mark, by its zero bytes",
        f"convert it (iconv -f {wide.upper()} -t UTF-8), or for a labelled file set dataset.encoding={wide}",
    )


def numbered_lines(
    path: str | Path, start: int = 0, encoding: str | None = None
) -> Iterator[tuple[int, int, str | Problem]]:
    """Yields (number, offset, line) for each line of a file from the byte `start` on.

    The line where reading begins has number 1. The offset is the byte where a line begins. The line has no
    line feed at its end; it is a `Problem` where it is too long or not in the encoding, and where a
    compressed file is damaged, which is then the last one. The offset is 0 for lines of UTF-16 and UTF-32.

    Args:
      path: the file. It is unpacked if its name ends in `.gz`, `.bz2`, `.xz` or `.zst`. Only a line feed ends
        a line. A byte order mark at the beginning says the encoding, and is left out.
      start: where a line begins.
      encoding: of a file without a byte order mark; by default UTF-8. See `find_encoding`.
    """
    compression, number, offset = find_compression(path), 1, start
    damages = compression.errors if compression else ()
    try:
        with find_opener(path)(path, "rb") as stream:
            first = b"" if start else stream.read(len(codecs.BOM_UTF32_LE))
            encoding, wide = marked_encoding(first) or encoding, unmarked_wide_encoding(first)
            if wide and not encoding:
                yield 1, 0, _unmarked(wide)
                return
            encoding = encoding or "utf-8"
            stream.seek(start)
            if not cuts_at_line_feeds(encoding):
                yield from _wide_lines(stream, encoding)
                return
            while line := stream.readline(LONGEST_LINE + 1):
                end = offset + len(line)
                if offset == 0 and line.startswith(UTF8_MARK) and encoding == "utf-8":
                    offset, line = len(UTF8_MARK), line[len(UTF8_MARK) :]
                if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                    end += _skip_line(stream)
                    yield number, offset, Problem("lines left out, too long", _TOO_LONG, _BREAK_IT)
                else:
                    yield number, offset, _decoded(line, encoding)
                number, offset = number + 1, end
    except damages as error:
        if getattr(error, "errno", None) is not None:  # the disk, not the file's contents
            raise
        what = f"cannot be unpacked: not a whole {compression.name} file ({error})"
        kind = "ends left out, damaged compressed files"
        yield number, offset, Problem(kind, what, "copy or compress it again")


def _wide_lines(stream, encoding):
    """(number, 0, line) of a file in which a line feed is no single byte; a `Problem` is the last."""
    number = 1
    try:
        with io.TextIOWrapper(stream, encoding, newline="\n") as lines:
            while line := lines.readline(LONGEST_LINE + 1):
                if len(line) > LONGEST_LINE and not line.endswith("\n"):
                    yield number, 0, Problem("ends left out, lines too long", _TOO_LONG, _BREAK_IT)
                    return
                yield number, 0, line.removesuffix("\n")
                number += 1
    except UnicodeError as error:
        what = f"or one soon after it is not {encoding.upper()} ({getattr(error, 'reason', error)})"
        yield number, 0, Problem("ends left out, not decoded", what, "write the file again, as UTF-8")


def _decoded(line, encoding) -> str | Problem:
    line = line.removesuffix(b"\n")
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        what = f"is not {encoding.upper()} (byte 0x{line[error.start]:02x})"
    return Problem(_NOT_DECODED, what, how_to_convert(line), line)


def _skip_line(stream) -> int:
    """Reads up to the end of a line; returns how many bytes that was."""
    size = 0
    while piece := stream.readline(_BYTES_SKIPPED_AT_ONCE):
        size += len(piece)
        if piece.endswith(b"\n"):
            break
    return size


def bounded_lines(stream, name: str | Path) -> Iterator:
    """Yields the lines of an open file with their ends, bytes or text, as the file itself does.

    Args:
      stream: the open file.
      name: its name, for the error message.

    Raises:
      ValueError: for a line of more than LONGEST_LINE, of which no more is read.
    """
    number = 1
    while line := stream.readline(LONGEST_LINE + 1):
        if len(line) > LONGEST_LINE:
            raise ValueError(f"{name} line {number} {_TOO_LONG}; {_BREAK_IT}.")
        yield line
        number += 1


def decoded_lines(lines: Iterable[bytes], name: str | Path) -> Iterator[str]:
    r"""Yields lines of UTF-8 without their ends, "\n" or "\r\n", and without a byte order mark before them.

    Args:
      lines: as `bounded_lines` gives them.
      name: of what they are from, for the error message.

    Raises:
      ValueError: for a line that is not UTF-8, with its number.
    """
    for number, line in enumerate(lines, start=1):
        text = _decoded(line.removeprefix(UTF8_MARK) if number == 1 else line, "utf-8")
        if isinstance(text, Problem):
            raise ValueError(f"{name} line {number} {text.what}; {text.remedy}.")
        yield text.removesuffix("\r")
