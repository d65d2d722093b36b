"""Compressed files, recognized by their suffix. Standard library only, except for `.zst`."""

import bz2
import contextlib
import functools
import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from kbert.extras import require
from kbert.files.packed_streams import PackedStreams


class Compression(NamedTuple):
    """A compression: its `name`, the function that opens such a file, and its errors for damaged files."""

    name: str
    open: Callable  # of a path
    errors: tuple[type[Exception], ...]


def find_compression(path: str | Path) -> Compression | None:
    """How a file is compressed, by its suffix; None for one that is not.

    Raises:
      ValueError: when the package for it is not installed.
    """
    match Path(path).suffix.lower():
        case ".gz":
            return Compression("gzip", _open_gzip, (EOFError, gzip.BadGzipFile, zlib.error))
        case ".bz2":
            opener = functools.partial(_open_streams, bz2.open, bz2.BZ2Decompressor)
            return Compression("bzip2", opener, (EOFError, OSError))
        case ".xz":
            opener = functools.partial(_open_streams, lzma.open, lzma.LZMADecompressor)
            return Compression("xz", opener, (EOFError, lzma.LZMAError))
        case ".zst":
            zstd = _import_zstd(path)
            return Compression("zstd", functools.partial(_open_zstd, zstd), (EOFError, zstd.ZstdError))
    return None


def find_opener(path: str | Path) -> Callable:
    """`open`, or the function of its compression that takes the same arguments. ValueError as above."""
    compression = find_compression(path)
    return compression.open if compression else open


def beginning(path: str | Path, size: int, beyond_ascii: bool = False) -> bytes:
    """The first bytes of a file, unpacked; none of a damaged one. ValueError as above.

    Args:
      path: the file.
      size: how many bytes.
      beyond_ascii: whether pieces of this size in which ASCII stands alone are passed over, and the one after
        the first other is read too, which may end that one's last character.
    """
    compression = find_compression(path)
    with find_opener(path)(path, "rb") as stream:
        with contextlib.suppress(*(compression.errors if compression else ())):
            first = stream.read(size)
            while beyond_ascii and first and first.isascii():
                first = stream.read(size)
            return first + stream.read(size) if beyond_ascii else first
    return b""


@contextlib.contextmanager
def naming_damage(path: str | Path, mend: str):
    """Inside, an error of a damaged compressed file becomes a ValueError that names the file.

    Args:
      path: the file that is read.
      mend: what to do, for the message: "make it again".
    """
    compression = find_compression(path)
    damages = compression.errors if compression else ()
    try:
        yield
    except damages as error:
        if getattr(error, "errno", None) is not None:  # the disk, not the file's contents
            raise
        raise ValueError(f"{path} is not a whole {compression.name} file ({error}); {mend}.") from None


def name_when_unpacked(path: str | Path) -> str:
    """The file's name in lower case, without the suffix of its compression. ValueError as above."""
    path = Path(path)
    return (path.stem if find_compression(path) else path.name).lower()


def _open_gzip(path, mode="rb", **text_settings):
    """As `gzip.open`. What is written has neither name nor time in it: the same text gives the same bytes."""
    if "w" not in mode:
        return gzip.open(path, mode, **text_settings)
    raw: Any = open(path, "wb")
    packed = gzip.GzipFile("", "wb", fileobj=raw, mtime=0)
    packed.myfileobj = raw  # closed with it, as `gzip.open` does
    return io.TextIOWrapper(packed, **text_settings) if "t" in mode else packed


def _open_streams(opener, decompressor, path, mode="rb", **text_settings):
    """As the function `opener` of Python's module, but for streams that it leaves out without an error."""
    if "r" not in mode:
        return opener(path, mode, **text_settings)
    unpacked = io.BufferedReader(PackedStreams(path, decompressor))
    return io.TextIOWrapper(unpacked, **text_settings) if "t" in mode else unpacked


def _open_zstd(zstd, path, mode="rb", **text_settings):
    """As `zstd.open`, but for windows of up to 2^31 bytes, too, as `zstd --long=31` writes; it reads 2^27."""
    options = {} if "w" in mode else {zstd.DecompressionParameter.window_log_max: 31}
    return zstd.open(path, mode, options=options, **text_settings)


def _import_zstd(path):
    # The module of Python 3.14's standard library, for older Pythons. The package `zstandard` does not notice
    # that a file is cut off.
    require("zstd", f"{path} is compressed with zstd, which")
    from backports import zstd

    return zstd
