"""Text files, plain or compressed, line by line. Standard library only, but for `.zst`."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ZSTD_REQUIREMENT = "backports.zstd==1.8.0"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Named only to be refused: read as text they would be reported as a page of bytes that are not UTF-8.
_UNREAD_SUFFIXES = (".7z", ".br", ".lz4", ".lzma", ".parquet", ".rar", ".tar", ".tgz", ".z", ".zip")


class _Compression(NamedTuple):
    name: str
    open: Callable
    errors: tuple[type[Exception], ...]


def read_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 text file without their line feeds, one at a time.

    Args:
      path: the file; by its name `.gz`, `.bz2`, `.xz` or `.zst` it is unpacked. Only a line feed ends a line,
        and a byte order mark at the beginning is left out.

    Raises:
      ValueError: naming file and line, for bytes that are not UTF-8 or a compressed file that is not whole;
        and for a file that is missing or of a kind that is not read.
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
    compression, number = _compression(path), 0
    errors = compression.errors if compression else ()
    with open(path, "rb") as raw, compression.open(raw) if compression else raw as stream:
        try:
            for line in stream:
                yield line
                number += 1
        except errors as error:
            if getattr(error, "errno", None) is not None:  # the disk, not the file's contents
                raise
            raise ValueError(
                f"{path} cannot be unpacked after line {number}: not a whole {compression.name} file "
                f"({error}). Get or pack it anew."
            ) from None


def _compression(path) -> _Compression | None:
    suffix = path.suffix.lower()
    if suffix in _UNREAD_SUFFIXES:
        raise ValueError(
            f"{path} is of a kind that is not read; give text, plain or compressed as .gz, .bz2, .xz or .zst."
        )
    match suffix:
        case ".gz":
            return _Compression("gzip", gzip.open, (EOFError, gzip.BadGzipFile, zlib.error))
        case ".bz2":
            return _Compression("bzip2", bz2.open, (EOFError, OSError))
        case ".xz":
            return _Compression("xz", lzma.open, (EOFError, lzma.LZMAError))
        case ".zst":
            zstd = _import_zstd(path)
            return _Compression("zstd", zstd.open, (EOFError, zstd.ZstdError))
    return None


def _import_zstd(path):
    # The standard library's own module of Python 3.14, for older ones. The package `zstandard` takes a file
    # that was cut off for one that ends there.
    try:
        from backports import zstd
    except ImportError:
        raise ValueError(
            f"{path} is compressed with zstd, which needs a package: pip install {ZSTD_REQUIREMENT}"
        ) from None
    return zstd
