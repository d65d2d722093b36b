"""Compressed files, known by their suffix. Standard library only, but for `.zst`."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

_ZSTD_REQUIREMENT = "backports.zstd==1.8.0"
# Named only to be refused: read as text they would be reported as a page of bytes that are not UTF-8.
_UNREAD_SUFFIXES = (".7z", ".br", ".lz4", ".lzma", ".parquet", ".rar", ".tar", ".tgz", ".z", ".zip")


class Compression(NamedTuple):
    """A way to unpack: its `name`, what opens a path or a binary stream, and its errors for damaged files."""

    name: str
    open: Callable  # of a path or a binary stream
    errors: tuple[type[Exception], ...]


def compression_of(path: str | Path) -> Compression | None:
    """How a file is compressed, by its suffix; None for one that is not.

    Raises:
      ValueError: when the package for it is not installed.
    """
    match Path(path).suffix.lower():
        case ".gz":
            return Compression("gzip", gzip.open, (EOFError, gzip.BadGzipFile, zlib.error))
        case ".bz2":
            return Compression("bzip2", bz2.open, (EOFError, OSError))
        case ".xz":
            return Compression("xz", lzma.open, (EOFError, lzma.LZMAError))
        case ".zst":
            zstd = _import_zstd(path)
            return Compression("zstd", zstd.open, (EOFError, zstd.ZstdError))
    return None


def require_read_kind(path: str | Path, what: str):
    """Refuses archives, and files that are compressed in a way that is not read.

    Args:
      path: the file; its suffix tells.
      what: what is wanted instead, for the sentence: "text" or the like.

    Raises:
      ValueError: naming the file.
    """
    if Path(path).suffix.lower() in _UNREAD_SUFFIXES:
        raise ValueError(
            f"{path} is of a kind that is not read; give {what}, plain or compressed as .gz, .bz2, .xz or "
            ".zst."
        )


def _import_zstd(path):
    # The standard library's own module of Python 3.14, for older ones. The package `zstandard` takes a file
    # that was cut off for one that ends there.
    try:
        from backports import zstd
    except ImportError:
        raise ValueError(
            f"{path} is compressed with zstd, which needs a package: pip install {_ZSTD_REQUIREMENT}"
        ) from None
    return zstd
