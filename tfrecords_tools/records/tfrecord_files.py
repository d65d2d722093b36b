"""Features -> serialized examples -> TFRecord files, without TensorFlow."""

import contextlib
import functools
import gzip
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kbert.features import Feature
from tfrecords_tools.records.crc32c import crc32c

# tensorflow/core/lib/hash/crc32c.h: checksums are stored turned by 15 bits, and with this added.
_MASK = np.uint32(0xA282EAD8)
_FRAME_BYTES = 16


ENDINGS = {"none": ".tfrecord", "gzip": ".tfrecord.gz"}  # of files, by their compression


def shard_names(kind: str, number: int, compression: str) -> list[str]:
    """The names of all shards of a set: `KIND-00000-of-00008.tfrecord`."""
    return [f"{kind}-{index:05d}-of-{number:05d}{ENDINGS[compression]}" for index in range(number)]


def framed(records: Sequence[bytes]) -> list[bytes]:
    """Each record as it stands in a TFRecord file, between its length and the checksums of both.

    Source: tensorflow/core/lib/io/record_writer.cc.
    """
    checksums = _masked(crc32c(records)).tobytes()
    return [
        b"".join((framed_length(len(record)), record, checksums[4 * row : 4 * row + 4]))
        for row, record in enumerate(records)
    ]


def split_records(path: Path, compression: str) -> list[bytes]:
    """What `framed` gave for each record of a whole file."""
    content = path.read_bytes()
    content = gzip.decompress(content) if compression == "gzip" else content
    records, start = [], 0
    while start < len(content):
        end = start + int.from_bytes(content[start : start + 8], "little") + _FRAME_BYTES
        records.append(content[start:end])
        start = end
    return records


@functools.lru_cache(1 << 16)
def framed_length(length: int) -> bytes:
    """What stands before a record of so many bytes."""
    content = length.to_bytes(8, "little")
    return content + masked_checksum(content)


def masked_checksum(content: bytes) -> bytes:
    """The checksum of some bytes as TensorFlow's files hold it."""
    return _masked(crc32c([content])).tobytes()


def _masked(checksums):
    return ((checksums >> np.uint32(15) | checksums << np.uint32(17)) + _MASK).astype("<u4")


def open_records(path: str | Path, compression: str):
    """Opens a TFRecord file to write what `framed` gives, in `with`.

    Args:
      path: the file.
      compression: "none" or "gzip".
    """
    return contextlib.closing(_GzipFile(path)) if compression == "gzip" else open(path, "wb")


class _GzipFile:
    """The bytes of TensorFlow's writer, with no time and no name in the header, unlike those of `gzip`."""

    def __init__(self, path):
        self._file = open(path, "wb")
        self._deflate = zlib.compressobj(wbits=31, memLevel=9)

    def write(self, content):
        self._file.write(self._deflate.compress(content))

    def close(self):
        with self._file:
            self._file.write(self._deflate.flush())


# ------------------------------------------------------------------------------- tf.train.Example
#
# Building tf.train.Example objects takes longer than all the rest of making a record. The features here
# are plain arrays, and their encoding is simple: tag, length, content, with tags from
# tensorflow/core/example/{example,feature}.proto. The bytes are those of
# `tf.train.Example(...).SerializeToString(deterministic=True)`; the tests compare both.

_EXAMPLE_FEATURES = b"\x0a"  # Example.features = 1
_FEATURES_ENTRY = b"\x0a"  # Features.feature = 1, a map
_ENTRY_KEY, _ENTRY_VALUE = b"\x0a", b"\x12"
_FEATURE_FLOAT_LIST, _FEATURE_INT64_LIST = b"\x12", b"\x1a"
_LIST_VALUES = b"\x0a"  # Int64List.value = FloatList.value = 1, packed


def encode_examples(columns: Mapping[str, np.ndarray], features: Mapping[str, Feature]) -> list[bytes]:
    """Serialized `tf.train.Example`s of a batch, as int64 and float lists like those of the original.

    Args:
      columns: for each feature an array of shape [batch, *shape].
      features: name -> `Feature`; its dtype decides between the two kinds of list.
    """
    entries = []  # for each feature the encoded map entry of each example
    for name in sorted(features):
        list_tag, contents = _contents(columns[name], features[name].dtype)
        key = _ENTRY_KEY + _with_length(name.encode("utf-8"))
        heads = {}  # by the length of the content: there are few lengths and many examples
        column = []
        for content in contents:
            size = len(content)
            if size not in heads:
                heads[size] = _entry_head(key, list_tag, content)
            column.append(heads[size] + content)
        entries.append(column)
    bodies = map(b"".join, zip(*entries, strict=True))
    return [b"".join((_EXAMPLE_FEATURES, _varint(len(body)), body)) for body in bodies]


def _contents(column, dtype):
    """(tag of the kind of list, the values of each example as bytes)."""
    flat = column.reshape(len(column), -1)
    if dtype == "float32":
        return _FEATURE_FLOAT_LIST, [row.tobytes() for row in flat.astype("<f4")]
    return _FEATURE_INT64_LIST, _packed_varints(flat)


def _entry_head(key, list_tag, content):
    """All that stands before the packed values of one feature."""
    values = _LIST_VALUES + _with_length(content) if content else b""
    value_list = list_tag + _with_length(values)
    entry = key + _ENTRY_VALUE + _with_length(value_list)
    whole = _FEATURES_ENTRY + _with_length(entry)
    return whole[: len(whole) - len(content)]


def _with_length(content):
    return _varint(len(content)) + content


@functools.lru_cache(1 << 16)
def _varint(number):
    """Seven bits a byte, the lowest first; the high bit says that more follow."""
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _packed_varints(rows):
    """The varints of each row of an integer array of shape [batch, size], for the whole batch at once."""
    if not rows.size:
        return [b""] * len(rows)
    smallest, largest = int(rows.min()), int(rows.max())
    if 0 <= smallest and largest < 128:  # a byte each: masks, segments, labels
        stream, size = rows.astype(np.uint8).tobytes(), rows.shape[1]
        return [stream[start : start + size] for start in range(0, len(stream), size)]
    # Negative numbers take ten bytes, as in protobuf.
    unsigned = np.uint32 if 0 <= smallest and largest < 1 << 32 else np.uint64
    values = rows.astype(np.int64).view(np.uint64).astype(unsigned)
    most_bytes = -(-int(values.max()).bit_length() // 7)
    encoded = np.empty((*values.shape, most_bytes), np.uint8)
    present = np.empty(encoded.shape, bool)
    for index in range(most_bytes):
        rest = values >> unsigned(7 * index)
        present[..., index] = rest > 0
        encoded[..., index] = rest & unsigned(127)
        encoded[..., index] |= (rest > 127).view(np.uint8) << np.uint8(7)
    present[..., 0] = True
    ends = np.cumsum(np.count_nonzero(present.reshape(len(rows), -1), axis=1)).tolist()
    stream = encoded[present].tobytes()
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]
