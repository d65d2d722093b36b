"""Text files, plain or compressed, line by line. Standard library only, except for `.zst`."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kbert.files.compression import find_compression, find_opener, require_read_kind

# A line is held in memory several times. The Bible has 4 MB.
LONGEST_LINE = 1 << 26  # bytes, or characters of a stream of text
_TOO_LONG = f"is longer than {LONGEST_LINE >> 20} MiB, the longest line that is read"
_BREAK_IT = "break the text into lines, for example with fold -s"
_BYTES_SKIPPED_AT_ONCE = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Problem(NamedTuple):
    """Why a line cannot be read: the kind under which it is counted, what is wrong, and how to mend it."""

    kind: str
    what: str
    remedy: str


def read_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 text file without their line feeds, one at a time.

    Args:
      path: the file, read as by `numbered_lines`.

    Raises:
      ValueError: for a line that is a `Problem`, naming file and line; for a missing file; and for a format
        that kbert does not read.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"{path} is a folder, not a text file." if path.is_dir() else
                         f"{path} does not exist.")  # fmt: skip
    require_read_kind(path, "text")
    for number, _, line in numbered_lines(path):
        if isinstance(line, Problem):
            raise ValueError(f"{path} line {number} {line.what}; {line.remedy}.")
        yield line


def numbered_lines(path: str | Path, start: int = 0) -> Iterator[tuple[int, int, str | Problem]]:
    """Yields (number, offset, line) for each line of a file from the byte `start` on.

    The line where reading begins has number 1. The offset is the byte where a line begins. The line has no
    line feed at its end; it is a `Problem` where it is too long or not UTF-8, and where a compressed file is
    damaged, which is then the last one.

    Args:
      path: the file. It is unpacked if its name ends in `.gz`, `.bz2`, `.xz` or `.zst`. Only a line feed ends
        a line. A byte order mark at the beginning is left out.
      start: where a line begins.
    """
    compression, number, offset = find_compression(path), 1, start
    damages = compression.errors if compression else ()
    try:
        with find_opener(path)(path, "rb") as stream:
            stream.seek(start)
            while line := stream.readline(LONGEST_LINE + 1):
                end = offset + len(line)
                if offset == 0 and line.startswith(_BYTE_ORDER_MARK):
                    offset, line = len(_BYTE_ORDER_MARK), line[len(_BYTE_ORDER_MARK) :]
                if len(line) > LONGEST_LINE and not line.endswith(b"\n"):
                    end += _skip_line(stream)
                    yield number, offset, Problem("lines left out, too long", _TOO_LONG, _BREAK_IT)
                else:
                    yield number, offset, _decoded(line)
                number, offset = number + 1, end
    except damages as error:
        if getattr(error, "errno", None) is not None:  # the disk, not the file's contents
            raise
        what = f"cannot be unpacked: not a whole {compression.name} file ({error})"
        kind = "ends left out, damaged compressed files"
        yield number, offset, Problem(kind, what, "copy or compress it again")


def _decoded(line) -> str | Problem:
    try:
        return line.removesuffix(b"\n").decode("utf-8")
    except UnicodeDecodeError as error:
        what = f"is not UTF-8 (byte 0x{line[error.start]:02x})"
    remedy = "convert it, for example: iconv -f WINDOWS-1252 -t UTF-8"
    return Problem("lines left out, not UTF-8", what, remedy)


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
