"""Reads a file of compressed streams, one behind the other, as `cat` and parallel packers write it."""

import io
import os
from collections.abc import Callable
from pathlib import Path

_PIECE = io.DEFAULT_BUFFER_SIZE  # bytes of the file at a time


class PackedStreams(io.RawIOBase):
    """What the streams of a file hold, as bytes; zeros between and behind them are padding.

    The modules `bz2` and `lzma` take a stream with a damaged beginning for something that is no part of the
    file, and end before it without an error. Here it is an error of the decompressor, as any other damage.

    Args:
      path: the file.
      decompressor: makes a new decompressor, such as `bz2.BZ2Decompressor`.
    """

    def __init__(self, path: str | Path, decompressor: Callable):
        super().__init__()
        self._file = open(path, "rb")  # noqa: SIM115
        self._decompressor = decompressor
        self._rewind()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self):
        self._file.close()
        super().close()

    def readinto(self, buffer) -> int:
        unpacked = self._unpack(len(buffer))
        buffer[: len(unpacked)] = unpacked
        self._position += len(unpacked)
        return len(unpacked)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Goes to a byte of what the file holds, of which all before it is unpacked; not from the end."""
        if whence == os.SEEK_END:
            raise io.UnsupportedOperation("the length of what a compressed file holds is not known")
        target = offset + (self._position if whence == os.SEEK_CUR else 0)
        if target < self._position:
            self._file.seek(0)
            self._rewind()
        while self._position < target and self.read(min(_PIECE, target - self._position)):
            pass
        return self._position

    def _rewind(self):
        self._stream, self._position = self._decompressor(), 0

    def _unpack(self, size) -> bytes:
        while True:
            packed = b""
            if self._stream.eof:
                packed = self._behind_stream()
                if not packed:
                    return b""
                self._stream = self._decompressor()
            elif self._stream.needs_input:
                packed = self._file.read(_PIECE)
                if not packed:
                    raise EOFError("it ends within a stream")
            if unpacked := self._stream.decompress(packed, size):
                return unpacked

    def _behind_stream(self) -> bytes:
        packed = self._stream.unused_data.lstrip(b"\0")
        while not packed and (piece := self._file.read(_PIECE)):
            packed = piece.lstrip(b"\0")
        return packed
