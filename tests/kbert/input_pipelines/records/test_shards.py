"""Damage of every kind is named by file and record, and nothing is read past it."""

import dataclasses
import gzip
import os

import numpy as np
import pytest
import tensorflow as tf

from kbert.input_pipelines.batches import evaluation_batches, training_batches
from kbert.input_pipelines.records.record_files import (
    first_damage,
    open_shard,
    require_written_bytes,
    wrong_shards,
)
from kbert.input_pipelines.records.record_reader import RecordRows, naming_damaged_records
from kbert.manifest import Manifest, describe_shards
from tests.kbert.input_pipelines.records import small_records
from tfrecords_tools.records.tfrecord_files import framed, framed_length

LENGTHS = [int(length) for length in np.random.default_rng(1).integers(5, 120, 40)]
STARTS = np.cumsum([0, *(length + 16 for length in LENGTHS)]).tolist()  # 16 bytes around each record


@pytest.fixture(params=["", ".gz"], ids=["plain", "gz"])
def change(request, tmp_path):
    """A function that writes a file of 40 records, changed by a function from bytes to bytes; its path."""

    def write(function):
        path = tmp_path / "a.tfrecord"
        with tf.io.TFRecordWriter(str(path)) as writer:
            for length in LENGTHS:
                writer.write(os.urandom(length))
        raw = function(bytearray(path.read_bytes()))
        path = tmp_path / f"a.tfrecord{request.param}"
        path.write_bytes(gzip.compress(raw) if request.param else raw)
        return path

    return write


def flipped(place):
    def function(raw):
        raw[place] ^= 0x40
        return raw

    return function


@pytest.mark.parametrize("number", [0, 39])
@pytest.mark.parametrize(
    "place", [0, 9, 12, -2], ids=["length", "CRC of the length", "data", "CRC of the data"]
)
def test_a_flipped_byte_is_found_with_its_record(change, number, place):
    begin = STARTS[number] if place >= 0 else STARTS[number + 1]
    assert first_damage(change(flipped(begin + place))) == (True, number)


@pytest.mark.parametrize("number", [0, 17, 40])
def test_whole_records_are_counted(change, number):
    path = change(lambda raw: raw[: STARTS[number]])
    assert first_damage(path) == (False, number)
    assert [len(record) for record in open_shard(path).as_numpy_iterator()] == LENGTHS[:number]


@pytest.mark.parametrize("kind", ["cut", "last CRC"])
def test_a_broken_gzip_stream_is_damage(tmp_path, kind):
    rng = np.random.default_rng(1)
    with tf.io.TFRecordWriter(str(tmp_path / "a.tfrecord")) as writer:
        for _ in range(3000):
            writer.write(rng.bytes(60))
    raw = gzip.compress((tmp_path / "a.tfrecord").read_bytes())
    half = len(raw) // 2
    broken = {
        "cut": raw[:half],
        "last CRC": raw[:-8] + bytes(8),
    }
    (tmp_path / "a.tfrecord.gz").write_bytes(broken[kind])
    damaged, number = first_damage(tmp_path / "a.tfrecord.gz")
    assert damaged and number < 3000


# ------------------------------------------------------------------------------------------ sets of records


@pytest.fixture(params=["", ".gz"], ids=["plain", "gz"])
def records(request, tmp_path):
    """(directory, manifest, a function that changes the bytes of the second shard; its path)."""
    directory = tmp_path / "records"
    manifest, _ = small_records.write(directory, (9, 8, 7), suffix=request.param)
    path = directory / manifest.shards[1].file

    def change(function):
        raw = path.read_bytes()
        raw = function(bytearray(gzip.decompress(raw) if request.param else raw))
        path.write_bytes(gzip.compress(raw) if request.param else raw)
        return path

    return directory, manifest, change


def start_of(raw, number):
    start = 0
    for _ in range(number):
        start += 16 + int.from_bytes(raw[start : start + 8], "little")
    return start


def damaged_third(raw):
    return flipped(start_of(raw, 3) + 40)(raw)


def without_last(raw):
    return raw[: start_of(raw, 7)]


def exchanged(raw):
    return raw[start_of(raw, 1) :] + raw[: start_of(raw, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "facts"),
    [
        (damaged_third, "record 3 is damaged"),
        (without_last, "it holds 7 records, but its manifest says 8"),
        (exchanged, "its SHA-256 is not that of the manifest"),
    ],
)
def test_a_shard_that_is_not_what_was_written_is_named(records, function, facts):
    directory, manifest, change = records
    require_written_bytes(directory, manifest)
    path = change(function)
    (problem,) = wrong_shards(directory, manifest)
    assert problem.startswith(f"{path} ") and problem.endswith(facts)
    with pytest.raises(ValueError, match=rf"{facts}; make the records again\.$"):
        require_written_bytes(directory, manifest)


def test_what_git_lfs_has_not_fetched_is_no_damage(tmp_path):
    manifest, _ = small_records.write(tmp_path / "records", (2,))
    (tmp_path / "records" / manifest.shards[0].file).write_text(
        "version https://git-lfs.github.com/spec/v1\n"
    )
    with pytest.raises(ValueError, match="is a pointer of Git LFS.*git lfs pull"):
        require_written_bytes(tmp_path / "records", manifest)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("function", "facts"), [(damaged_third, "record 3 is"), (without_last, "it holds 7")]
)
def test_reading_stops_with_file_and_record(records, function, facts):
    directory, manifest, change = records
    path, rows = change(function), RecordRows(directory, manifest)
    for make in (
        lambda: list(evaluation_batches(rows, 8)),
        lambda: list(training_batches(rows, 8, 1).take(4)),
    ):
        with pytest.raises(ValueError) as error, naming_damaged_records(rows):
            make()
        assert str(error.value).startswith(f"{path} ") and facts in str(error.value)
        assert str(error.value).endswith("; make the records again.")


@pytest.mark.parametrize("length", [1 << 40, (1 << 64) - 17], ids=["a tebibyte", "the last number but 16"])
def test_a_length_beyond_memory_is_damage_though_its_checksum_is_right(tmp_path, length):
    """TensorFlow takes memory for it before it reads, and the process ends."""
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed([b"abc"])[0] + framed_length(length) + b"abc")
    assert first_damage(path) == (True, 1)
    with pytest.raises(ValueError, match=f"^{path}: record 1 is damaged; make the records again.$"):
        open_shard(path)
    manifest = Manifest("a", {}, describe_shards(tmp_path, {path.name: 2}), {"fingerprint": "0"})
    with pytest.raises(ValueError, match="record 1 is damaged; make the records again.$"):
        require_written_bytes(tmp_path, manifest)


@pytest.mark.parametrize("record", [b"\x0a\xff", b"\x0a\x05abc"], ids=["no UTF-8", "ASCII"])
def test_a_record_that_is_no_example_is_named(tmp_path, record):
    manifest, _ = small_records.write(tmp_path / "records", (1,))
    path = tmp_path / "records" / manifest.shards[0].file
    path.write_bytes(framed([record])[0])
    shards = describe_shards(path.parent, {path.name: 1})
    rows = RecordRows(path.parent, dataclasses.replace(manifest, shards=shards))
    with pytest.raises(ValueError, match=f"^{path} record 0: it does not hold .*; make the records again.$"):
        with naming_damaged_records(rows):
            list(evaluation_batches(rows, 1))
