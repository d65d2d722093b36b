"""The index of a TensorFlow checkpoint, looked at before TensorFlow's own reader, which trusts its entries.

That reader ends the whole process at an entry that it cannot parse, at an impossible shape, and at a text
longer than memory, if the checksums around them are right; and whoever makes a file can make them so.

Source: tensorflow/core/lib/io/format.cc and block.cc (a table of blocks, as LevelDB's),
c/checkpoint_reader.cc, core/util/tensor_bundle/tensor_bundle.cc (`ReadStringTensor`).
"""

import math
from collections.abc import Iterator
from pathlib import Path

from kbert.files.json_file import read_content
from kbert.files.json_values import shown_name

_LARGEST_FILE = 1 << 22  # bytes, for some 50,000 variables; a large BERT and its optimizer's have a fiftieth
_FOOTER_BYTES, _END = 48, bytes.fromhex("57fb808b247547db")
_MOST_AXES, _LARGEST = 254, (1 << 63) - 1
_LONGEST_NAME = 4096  # bytes
_MOST_TEXTS, _LENGTH_BYTES = 1 << 16, 10  # of one variable; of a length, at most


def require_readable(prefix: Path):
    """Refuses a checkpoint that TensorFlow's reader may not survive.

    Args:
      prefix: the path without `.index`.

    Raises:
      ValueError: saying what is wrong.
      OSError: when a file cannot be read.
    """
    from google.protobuf.message import DecodeError
    from tensorflow.core.framework import types_pb2
    from tensorflow.core.protobuf.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto

    entries = _table(read_content(Path(f"{prefix}.index"), "index", _LARGEST_FILE))
    name, previous = b"", b""
    try:
        header = BundleHeaderProto.FromString(next(entries, (b"", b""))[1])
        for name, value in entries:
            entry = BundleEntryProto.FromString(value)
            if name <= previous or entry.slices:
                raise ValueError(f"{_shown(name)} stands in several places")
            if entry.dtype == types_pb2.DT_INVALID or entry.dtype not in types_pb2.DataType.values():
                raise ValueError(f"{_shown(name)} is of an unknown type, {entry.dtype}")
            sizes = [axis.size for axis in entry.shape.dim]
            _require_shape(name, entry.shape.unknown_rank, sizes)
            if entry.dtype == types_pb2.DT_STRING:
                file = Path(f"{prefix}.data-{entry.shard_id:05d}-of-{header.num_shards:05d}")
                _require_texts(name, file, entry.offset, entry.size, math.prod(sizes))
            previous = name
    except DecodeError:
        raise ValueError(f"an entry is damaged, after {_shown(name)}") from None


def _require_shape(name, is_unknown, sizes):
    fits = not is_unknown and len(sizes) <= _MOST_AXES and min(sizes, default=0) >= 0
    if not fits or math.prod(sizes) > _LARGEST:
        raise ValueError(f"{_shown(name)} has an impossible shape")


def _require_texts(name, file, offset, size, number):
    """Refuses texts that are longer than their bytes; their lengths stand before them."""
    if offset < 0 or not 0 <= size <= file.stat().st_size:
        raise ValueError(f"{_shown(name)} reaches beyond {file.name}")
    if number > _MOST_TEXTS:
        raise ValueError(f"{_shown(name)} holds more than {_MOST_TEXTS} texts")
    with file.open("rb") as stream:
        stream.seek(offset)
        content = stream.read(min(size, number * _LENGTH_BYTES))
    at = total = 0
    for _ in range(number):
        length, at = _varint(content, at)
        total += length
    if total > size:
        raise ValueError(f"{_shown(name)} is longer than its bytes")


def _shown(name):
    return shown_name(name.decode("utf-8", "replace"))


def _table(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """(key, value) of all entries of the blocks that the last block lists."""
    footer = content[-_FOOTER_BYTES:]
    if not footer.endswith(_END):
        raise ValueError("its index is cut short")
    _, _, at = _handle(footer, 0)
    end = 0
    for _, handle in _block(content, *_handle(footer, at)[:2]):
        start, size, _ = _handle(handle, 0)
        if start < end:  # so that reading takes as long as the file is
            raise ValueError("its blocks lie over each other")
        end = start + size
        yield from _block(content, start, size)


def _block(content, start, size) -> Iterator[tuple[bytes, bytes]]:
    block = content[start : start + size]
    compression = content[start + size : start + size + 1]
    if len(block) < size or compression != b"\0":
        raise ValueError("a block is cut short or compressed")
    num_restarts = int.from_bytes(block[-4:], "little")
    end = size - 4 * (num_restarts + 1)
    if not num_restarts or end < 0:
        raise ValueError("a block has no end")
    restarts = {int.from_bytes(block[at : at + 4], "little") for at in range(end, size - 4, 4)}
    at, key, starts = 0, b"", {0}
    while at < end:
        starts.add(at)
        shared, at = _varint(block, at)
        grown, at = _varint(block, at)
        length, at = _varint(block, at)
        if shared > len(key) or shared + grown > _LONGEST_NAME or at + grown + length > end:
            raise ValueError("an entry reaches beyond its block, or its name has no end")
        key = key[:shared] + block[at : at + grown]
        at += grown + length
        yield key, block[at - length : at]
    if not restarts <= starts:  # a search would begin between two entries
        raise ValueError("a block is searched from where no entry begins")


def _handle(content, at) -> tuple[int, int, int]:
    """(start and size of a block, where the next number begins)."""
    start, at = _varint(content, at)
    size, at = _varint(content, at)
    return start, size, at


def _varint(content, at) -> tuple[int, int]:
    """(a number of seven bits a byte, where the next begins)."""
    number = shift = 0
    while at < len(content) and shift < 64:
        byte = content[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return number, at
    raise ValueError("a number is cut short")
