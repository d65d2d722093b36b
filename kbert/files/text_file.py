"""Text files, plain or compressed, line by line. Standard library only, except for `.zst`."""

from collections.abc import Iterator
from pathlib import Path

from kbert.files.compression import compression_of, require_read_kind

# A line is held in memory several times. The Bible has 4 MB.
LONGEST_LINE = 1 << 26  # bytes, or characters of a stream of text
WHY_TOO_LONG = f"is longer than {LONGEST_LINE >> 20} MiB, the longest line that is read"
BREAK_LONG_LINES = "break the text into lines, for example with fold -s"

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
            raise ValueError(f"{name} line {number} {WHY_TOO_LONG}; {BREAK_LONG_LINES}.")
        yield line
        number += 1


def read_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 text file without their line feeds, one at a time.

    Args:
      path: the file. It is unpacked if its name ends in `.gz`, `.bz2`, `.xz` or `.zst`. Only a line feed ends
        a line. A byte order mark at the beginning is left out.

    Raises:
      ValueError: for bytes that are not UTF-8, for a line that is too long (see `bounded_lines`) and for a
        damaged compressed file, naming file and line; for a missing file; and for a format that kbert does
        not read.
    """
    path = Path(path)
    for number, line in enumerate(_byte_lines(path), start=1):
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        try:
            yield line.removesuffix(b"\n").decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} line {number} is not UTF-8 (byte 0x{line[error.start]:02x}); convert it, for "
                "example with iconv."
            ) from None


def _byte_lines(path):
    if not path.is_file():
        raise ValueError(f"{path} is a folder, not a text file." if path.is_dir() else
                         f"{path} does not exist.")  # fmt: skip
    require_read_kind(path, "text")
    compression, number = compression_of(path), 0
    errors = compression.errors if compression else ()
    with open(path, "rb") as raw, compression.open(raw) if compression else raw as stream:
        try:
            for line in bounded_lines(stream, path):
                yield line
                number += 1
        except errors as error:
            if getattr(error, "errno", None) is not None:  # the disk, not the file's contents
                raise
            raise ValueError(
                f"{path} cannot be unpacked after line {number}: not a whole {compression.name} file "
                f"({error}). Download or compress it again."
            ) from None
