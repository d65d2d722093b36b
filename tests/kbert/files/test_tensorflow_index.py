"""Checkpoints with right checksums and hostile entries are refused before TensorFlow's own reader."""

import pytest
from tensorflow.core.framework import types_pb2
from tensorflow.core.protobuf.tensor_bundle_pb2 import BundleEntryProto, BundleHeaderProto

from kbert.checkpoints.google_tf1 import read_tensors
from kbert.files.tensorflow_index import require_readable
from tfrecords_tools.records.tfrecord_files import masked_checksum

FOUR = bytes(range(16))  # the numbers of four float32


def number(value):
    """A number of seven bits a byte."""
    return bytes([value & 127 | 128]) + number(value >> 7) if value > 127 else bytes([value])


def block(entries, restarts=(0,), compression=b"\0"):
    """(a block with its checksum, its size without it)."""
    content = b"".join(
        number(0) + number(len(key)) + number(len(value)) + key + value for key, value in entries
    )
    content += b"".join(restart.to_bytes(4, "little") for restart in (*restarts, len(restarts)))
    return content + compression + masked_checksum(content + compression), len(content)


def entry(sizes=(4,), dtype=types_pb2.DT_FLOAT, size=16, data=FOUR, **fields):
    made = BundleEntryProto(dtype=dtype, size=size, **fields)
    made.crc32c = int.from_bytes(masked_checksum(data), "little")
    for axis in sizes:
        made.shape.dim.add(size=axis)
    return made.SerializeToString()


def write(folder, entries, data=FOUR, **settings):
    header = BundleHeaderProto(num_shards=1)
    header.version.producer = 1
    table, size = block([(b"", header.SerializeToString()), *entries], **settings)
    handles = [number(0) + number(size)]
    for listed in ([], [(b"z", handles[0])]):
        made, size = block(listed)
        handles.append(number(len(table)) + number(size))
        table += made
    footer = b"".join(handles[1:]).ljust(40, b"\0") + 0xDB4775248B80FB57.to_bytes(8, "little")
    (folder / "c.index").write_bytes(table + footer)
    (folder / "c.data-00000-of-00001").write_bytes(data)
    return folder / "c"


TEXT = b"\x03" + masked_checksum((3).to_bytes(4, "little")) + b"abc"
LONG_TEXT = number(1 << 40) + masked_checksum((1 << 40).to_bytes(8, "little")) + b"abc"


def text(data):
    return [(b"t", entry((), types_pb2.DT_STRING, len(data), data))]


def test_what_is_whole_is_read(tmp_path):
    tensors = read_tensors(write(tmp_path, [(b"a", entry())]), "checkpoint")
    assert tensors["a"].read().tobytes() == FOUR
    tensors = read_tensors(write(tmp_path, text(TEXT), TEXT), "checkpoint")
    assert tensors["t"].shape == ()


PARTS = BundleEntryProto(slices=[{"extent": [{"start": 0, "length": 2}]}] * 2).SerializeToString()
HOSTILE = {
    "no entry": ([(b"a", b"\xff")], {}, "an entry is damaged, after"),
    "a size below 0": ([(b"a", entry((-5,)))], {}, "a has an impossible shape"),
    "sizes beyond all numbers": ([(b"a", entry((1 << 40, 1 << 40)))], {}, "a has an impossible shape"),
    "an unknown type": ([(b"a", entry((4,), 77))], {}, "a is of an unknown type, 77"),
    "axes without end": ([(b"a", entry((1,) * 300))], {}, "a has an impossible shape"),
    "a name twice": ([(b"a", entry()), (b"a", entry())], {}, "a stands in several places"),
    "parts": ([(b"a", entry() + PARTS)], {}, "a stands in several places"),
    "a text beyond memory": (text(LONG_TEXT), {"data": LONG_TEXT}, "t is longer than its bytes"),
    "many texts": ([(b"t", entry((1 << 40,), types_pb2.DT_STRING))], {}, "t holds more than 65536 texts"),
    "a text elsewhere": (text(TEXT), {"data": b""}, "t reaches beyond c.data-00000-of-00001"),
    "a name without end": ([(b"a" * 5000, entry())], {}, "its name has no end"),
    "a search from between entries": ([(b"a", entry())], {"restarts": (3,)}, "where no entry begins"),
    "packed": ([(b"a", entry())], {"compression": b"\1"}, "a block is cut short or compressed"),
    "no beginnings": ([(b"a", entry())], {"restarts": ()}, "a block has no end"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_tensorflow_would_not_survive_is_one_sentence(tmp_path, name):
    entries, settings, sentence = HOSTILE[name]
    prefix = write(tmp_path, entries, **settings)
    with pytest.raises(ValueError, match=f"^{prefix} is not a whole checkpoint .*{sentence}"):
        read_tensors(prefix, "checkpoint")


def test_every_shorter_index_is_refused(tmp_path):
    prefix = write(tmp_path, [(b"a", entry())])
    content = (tmp_path / "c.index").read_bytes()
    for size in range(len(content)):
        (tmp_path / "c.index").write_bytes(content[:size])
        with pytest.raises(ValueError):
            require_readable(prefix)
