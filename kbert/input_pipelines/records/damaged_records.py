"""Reads damaged TFRecord files: finds which records are lost, and reads all the others.

A record is stored as a frame: length (8 bytes), masked CRC of the length (4), data, masked CRC of the data
(4), all little-endian, with CRC-32C (tensorflow/core/lib/io/record_writer.h). TensorFlow's own reader stops
at the first damage and does not name the file. This module reads a file frame by frame. If a length is
damaged, it searches for the next complete frame. No TensorFlow.
"""

import contextlib
import dataclasses
import mmap
import struct
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import google_crc32c
import numpy as np
from absl import logging

from kbert.manifest import Manifest

_HEADER, _FOOTER = 12, 4  # bytes around the data
_SEARCH_BYTES = 1 << 20
_READ_BYTES = 1 << 16
_DAMAGES_TO_LOG = 5


class Record(NamedTuple):
    """A complete record: the offset of its frame in the (decompressed) file, and its data."""

    offset: int
    data: bytes


class Damage(NamedTuple):
    """Bytes of a file without a complete record: from `offset` to `end` of the (decompressed) file."""

    file: str
    offset: int
    end: int
    what: str

    def __str__(self):
        return f"{self.file} is damaged at byte {self.offset}: {self.what}"


class ShardCheck(NamedTuple):
    """The number of complete records in one file, and its damages."""

    num_records: int
    damages: tuple[Damage, ...]


def scan(path: str | Path) -> Iterator[Record | Damage]:
    """Yields all complete records of a file, and a `Damage` for everything between them.

    Args:
      path: a TFRecord file. A file whose name ends in `.gz` is decompressed first; offsets are those of the
        decompressed bytes. Everything after a damage of the gzip stream itself is lost.
    """
    with _content(Path(path)) as (content, gzip_problem):
        size, offset = len(content), 0
        while offset < size:
            end, problem = _frame_end(content, offset)
            if problem is None:
                yield Record(offset, content[offset + _HEADER : end - _FOOTER])
                offset = end
                continue
            # If the length is valid and another frame follows, only the data of this frame are damaged.
            if end is None or (end < size and _frame_length(content, end) is None):
                end = _next_frame(content, offset + 1)
            if end == size and gzip_problem:
                problem, gzip_problem = f"{problem}; {gzip_problem}", None
            yield Damage(str(path), offset, end, problem)
            offset = end
        if gzip_problem:
            yield Damage(str(path), size, size, gzip_problem)


def whole_records(path: str | Path) -> Iterator[bytes]:
    """Yields the data of all complete records of a file."""
    return (found.data for found in scan(path) if isinstance(found, Record))


def check_shard(path: str | Path) -> ShardCheck:
    """Counts the complete records of a file and lists its damages."""
    num_records, damages = 0, []
    for found in scan(path):
        if isinstance(found, Record):
            num_records += 1
        else:
            damages.append(found)
    return ShardCheck(num_records, tuple(damages))


def problems(directory: str | Path, manifest: Manifest) -> Iterator[str]:
    """Yields a sentence for each damage in a set of records, and for each shard with a wrong number of
    records."""
    for shard in manifest.shards:
        path = Path(directory) / shard.file
        check = check_shard(path)
        yield from map(str, check.damages)
        if check.num_records != shard.num_examples and not check.damages:
            yield f"{path} holds {check.num_records} records, but its manifest says {shard.num_examples}"


def leave_out_damaged(directory: str | Path, manifest: Manifest) -> tuple[Manifest, frozenset[str]]:
    """Checks all shards and counts the records that can be read. Logs how many are lost.

    Returns:
      (manifest, damaged): the manifest with the numbers of complete records, and the names of the damaged
      shards, which must be read with `whole_records`; TensorFlow can read the others.

    Raises:
      ValueError: when no complete record is left.
    """
    shards, damages = [], []
    for shard in manifest.shards:
        check = check_shard(Path(directory) / shard.file)
        shards.append(dataclasses.replace(shard, num_examples=check.num_records))
        damages += check.damages
    left = dataclasses.replace(manifest, shards=tuple(shards))
    if not left.num_examples:
        raise ValueError(f"{directory} holds no complete record; make the records again.")
    if lost := manifest.num_examples - left.num_examples:
        logging.warning(
            "%s: %d of %d records are lost; the others are used.", directory, lost, manifest.num_examples
        )
    for damage in damages[:_DAMAGES_TO_LOG]:
        logging.warning("%s", damage)
    if len(damages) > _DAMAGES_TO_LOG:
        logging.warning(
            "... and %d more; kbert check-records lists them.",
            len(damages) - _DAMAGES_TO_LOG,
        )
    return left, frozenset(Path(damage.file).name for damage in damages)


# ------------------------------------------------------------------------------------------- frames


def _frame_end(content, offset):
    """(where the frame at `offset` ends or None, what is wrong with it or None)."""
    size = len(content)
    if size - offset < _HEADER:
        return size, f"cut off after {size - offset} bytes of a record's header"
    length = _frame_length(content, offset)
    if length is None:
        return None, "the length of a record does not agree with its CRC"
    data = offset + _HEADER
    end = data + length + _FOOTER
    if end > size:
        return None, f"cut off after {size - data} of a record's {length + _FOOTER} bytes"
    (crc,) = struct.unpack("<I", content[end - _FOOTER : end])
    if crc != _masked(google_crc32c.value(content[data : end - _FOOTER])):
        return end, f"the {length} bytes of a record do not agree with their CRC"
    return end, None


def _frame_length(content, offset):
    """The data length in the header at `offset`, or None when it does not agree with its CRC."""
    header = content[offset : offset + _HEADER]
    if len(header) < _HEADER:
        return None
    length, crc = struct.unpack("<QI", header)
    return length if crc == _masked(google_crc32c.value(header[:8])) else None


def _masked(crc):
    """The CRC in the masked form in which it is stored (tensorflow/core/lib/hash/crc32c.h)."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _next_frame(content, offset):
    """The offset of the next complete record at or after `offset`, or the size of the content.

    It checks the data too: a header alone proves nothing, as data may contain eight bytes with their CRC.
    """
    size = len(content)
    for start in range(offset, size - _HEADER - _FOOTER + 1, _SEARCH_BYTES):
        part = np.frombuffer(content[start : start + _SEARCH_BYTES + _HEADER - 1], np.uint8)
        for place in (start + np.flatnonzero(_agreeing_headers(part))).tolist():
            if _frame_end(content, place)[1] is None:
                return place
    return size


def _agreeing_headers(part):
    """Whether a header that agrees with its CRC begins at each byte: bool (bytes - 11,)."""
    places = len(part) - _HEADER + 1
    crc = np.zeros(places, np.uint32)
    for index in range(8):
        start = 0xFF if index < 4 else 0  # the register of the CRC starts with 32 ones
        crc ^= _CRC_TABLES[7 - index][part[index : index + places] ^ start]
    crc = ~crc
    masked = (crc >> 15 | crc << 17) + np.uint32(0xA282EAD8)
    stored = sum(part[8 + i : 8 + i + places].astype(np.uint32) << np.uint32(8 * i) for i in range(4))
    return masked == stored


def _crc_tables():
    """uint32 (8, 256): the CRC-32C of each byte, followed by 0 to 7 zero bytes ("slicing by 8")."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, table >> 1 ^ np.uint32(0x82F63B78), table >> 1)
    tables = [table]
    for _ in range(7):
        tables.append(tables[0][tables[-1] & 0xFF] ^ tables[-1] >> 8)
    return np.stack(tables)


_CRC_TABLES = _crc_tables()


# ------------------------------------------------------------------------------------------- bytes


@contextlib.contextmanager
def _content(path):
    """(the decompressed bytes of a file as a sliceable object, a problem of the gzip stream or None)."""
    with contextlib.ExitStack() as stack:
        file, problem = stack.enter_context(open(path, "rb")), None
        if path.suffix == ".gz":
            plain = stack.enter_context(tempfile.TemporaryFile())
            problem = _decompress(file, plain)
            plain.flush()
            file = plain
        if file.seek(0, 2) == 0:
            yield b"", problem
        else:
            yield stack.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), problem


def _decompress(file, plain):
    """Writes everything that can be read from a gzip file to `plain`; returns what is wrong, or None."""
    stream = _gzip_stream()
    while chunk := file.read(_READ_BYTES):
        while chunk:
            before = stream.copy()
            try:
                plain.write(stream.decompress(chunk))
            except zlib.error as error:
                # Decompresses byte by byte up to the damage: everything before it is intact.
                with contextlib.suppress(zlib.error):
                    for index in range(len(chunk)):
                        plain.write(before.decompress(chunk[index : index + 1]))
                return f"the gzip stream is broken ({error})"
            chunk = stream.unused_data
            if stream.eof and chunk:
                stream = _gzip_stream()  # a gzip file may consist of several streams
    return None if stream.eof else "the gzip stream breaks off"


def _gzip_stream():
    return zlib.decompressobj(wbits=31)
