"""Damage of every kind: what is lost is exactly what was damaged, and it is named by file and byte."""

import dataclasses
import gzip
import random
import re
import struct

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.input_pipelines.records import record_reader
from kbert.input_pipelines.records.damaged_records import Damage, Record, check_shard, leave_out_damaged, scan
from tests.kbert.input_pipelines.records import small_records


def write_file(path, contents):
    """Writes a TFRecord file with TensorFlow's own writer; where each frame begins, and the end."""
    with tf.io.TFRecordWriter(str(path)) as writer:
        for content in contents:
            writer.write(content)
    return np.cumsum([0, *(len(content) + 16 for content in contents)]).tolist()


def contents_of(number, seed=1, longest=120):
    rng = random.Random(seed)
    return [rng.randbytes(rng.randint(0, longest)) for _ in range(number)]


def damage(path, place, new):
    raw = bytearray(path.read_bytes())
    raw[place : place + len(new)] = new
    path.write_bytes(raw)


def whole(path):
    return [found.data for found in scan(path) if isinstance(found, Record)]


def damages(path):
    return [found for found in scan(path) if isinstance(found, Damage)]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "a.tfrecord"
    contents = contents_of(40)
    return path, contents, write_file(path, contents)


def test_a_whole_file_is_read_as_tensorflow_reads_it(file):
    path, contents, offsets = file
    assert list(scan(path)) == [Record(o, c) for o, c in zip(offsets[:-1], contents, strict=True)]
    assert list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator()) == contents
    assert check_shard(path) == (40, ())


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (0, "the length of a record does not agree with its CRC"),
        (7, "the length of a record does not agree with its CRC"),
        (9, "the length of a record does not agree with its CRC"),
        (12, r"the \d+ bytes of a record do not agree with their CRC"),
        (-2, r"the \d+ bytes of a record do not agree with their CRC"),
    ],
)
@pytest.mark.parametrize("number", [0, 17, 39])
def test_one_flipped_byte_costs_one_record(file, number, place, what):
    path, contents, offsets = file
    assert len(contents[number]) > 4
    place = offsets[number] + place if place >= 0 else offsets[number + 1] + place
    damage(path, place, bytes([path.read_bytes()[place] ^ 0x40]))
    assert whole(path) == contents[:number] + contents[number + 1 :]
    (found,) = damages(path)
    assert (found.offset, found.end) == (offsets[number], offsets[number + 1])
    assert str(found).startswith(f"{path} is damaged at byte {offsets[number]}: ")
    assert re.fullmatch(what, found.what)


@pytest.mark.parametrize("cut", [1, 5, 12, 15, 30])
def test_a_file_that_was_cut_off_loses_its_last_record(file, cut):
    path, contents, offsets = file
    number = next(i for i in range(40) if len(contents[i]) > 40)
    path.write_bytes(path.read_bytes()[: offsets[number] + cut])
    assert whole(path) == contents[:number]
    (found,) = damages(path)
    assert found.offset == offsets[number] and found.what.startswith(
        f"cut off after {cut if cut < 12 else cut - 12}"
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_is_overwritten_costs_only_the_records_it_touches(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("any") / "a.tfrecord"
    contents = contents_of(12, seed=data.draw(st.integers(0, 5)), longest=40)
    offsets = write_file(path, contents)
    start = data.draw(st.integers(0, offsets[-1] - 1))
    new = data.draw(st.binary(min_size=1, max_size=30))[: offsets[-1] - start]
    before = path.read_bytes()
    damage(path, start, new)
    after = path.read_bytes()
    untouched = [
        content
        for content, begin, end in zip(contents, offsets, offsets[1:], strict=False)
        if before[begin:end] == after[begin:end]
    ]
    assert whole(path) == untouched
    for found in damages(path):
        assert before[found.offset : found.end] != after[found.offset : found.end]


# -------------------------------------------------------------------------------------------------- gzip


def test_a_compressed_file_is_read_by_its_name(file):
    path, contents, offsets = file
    packed = path.with_name("a.tfrecord.gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert list(scan(packed)) == [Record(o, c) for o, c in zip(offsets[:-1], contents, strict=True)]
    # Two streams, as `cat a.gz b.gz` makes them.
    packed.write_bytes(gzip.compress(path.read_bytes()) * 2)
    assert whole(packed) == contents * 2


@pytest.mark.parametrize("kind", ["cut", "broken", "last CRC"])
def test_a_broken_gzip_stream_gives_what_comes_before_the_break(tmp_path, kind):
    path = tmp_path / "a.tfrecord"
    contents = contents_of(3000)
    write_file(path, contents)
    raw = gzip.compress(path.read_bytes())
    half = len(raw) // 2
    packed = tmp_path / "a.tfrecord.gz"
    packed.write_bytes(
        {
            "cut": raw[:half],
            "broken": raw[:half] + bytes(100) + raw[half + 100 :],
            "last CRC": raw[:-8] + bytes(8),
        }[kind]
    )
    found, lost = whole(packed), damages(packed)
    assert lost and "the gzip stream" in lost[-1].what
    if kind == "last CRC":
        assert found == contents
    else:
        assert 1000 < len(found) < 2000 and found[:1000] == contents[:1000]


# ------------------------------------------------------------------------------------------ sets of records


@pytest.fixture(params=["", ".gz"], ids=["plain", "gz"])
def damaged_set(request, tmp_path):
    """(directory, manifest, number of the damaged example, byte of its record)."""
    directory = tmp_path / "records"
    manifest, _ = small_records.write(directory, (9, 8, 7), suffix=request.param)
    path = directory / manifest.shards[1].file
    raw = gzip.decompress(path.read_bytes()) if request.param else path.read_bytes()
    offset = 0
    for _ in range(3):
        offset += 16 + struct.unpack("<Q", raw[offset : offset + 8])[0]
    raw = raw[: offset + 40] + bytes([raw[offset + 40] ^ 1]) + raw[offset + 41 :]
    path.write_bytes(gzip.compress(raw) if request.param else raw)
    return directory, manifest, 12, offset


def numbers(batches):
    return [n for batch in batches for n in batch[small_records.NUMBERS].numpy()[:, 0].tolist()]


@pytest.mark.slow
def test_reading_stops_with_file_and_byte(damaged_set):
    directory, manifest, _, offset = damaged_set
    for make in (
        lambda: numbers(record_reader.evaluation_batches(directory, manifest, 8)),
        lambda: numbers(record_reader.training_batches(directory, manifest, 8, 1).take(4)),
    ):
        with pytest.raises(ValueError) as error, record_reader.naming_damaged_records((directory, manifest)):
            make()
        message = str(error.value)
        assert message.startswith(f"{directory / manifest.shards[1].file} is damaged at byte {offset}: the ")
        assert message.endswith(
            "make the records again, or pass --records_errors=skip to leave out damaged records."
        )


@pytest.mark.slow
def test_skipping_loses_the_damaged_record_alone_and_says_so(damaged_set, caplog):
    directory, manifest, number, offset = damaged_set
    left, damaged = leave_out_damaged(directory, manifest)
    assert [shard.num_examples for shard in left.shards] == [9, 7, 7]
    assert damaged == {manifest.shards[1].file}
    assert f"{directory}: 1 of 24 records are lost; the others are used." in caplog.text
    assert f"is damaged at byte {offset}" in caplog.text

    others = [n for n in range(24) if n != number]
    read = record_reader.evaluation_batches(directory, left, 5, damaged_shards=damaged)
    assert numbers(read) == others
    training = record_reader.training_batches(directory, left, 1, seed=1, damaged_shards=damaged)
    found = numbers(training.take(46))
    assert sorted(found[:23]) == sorted(found[23:]) == others
    resumed = record_reader.training_batches(directory, left, 1, 1, 11, damaged_shards=damaged)
    assert numbers(resumed.take(20)) == found[11:31]


def test_records_that_are_missing_at_the_end_of_a_shard_are_noticed(tmp_path):
    """Cut off between two records, a file looks whole to TensorFlow."""
    manifest, _ = small_records.write(tmp_path / "records", (9, 8))
    more = dataclasses.replace(manifest.shards[0], num_examples=11)
    told = dataclasses.replace(manifest, shards=(more, manifest.shards[1]))
    with (
        pytest.raises(
            ValueError, match=r"-00000-of-00002.tfrecord holds 9 records, but its manifest says 11; make"
        ),
        record_reader.naming_damaged_records((tmp_path / "records", told)),
    ):
        numbers(record_reader.evaluation_batches(tmp_path / "records", told, 4))
    left, damaged = leave_out_damaged(tmp_path / "records", told)
    assert left.num_examples == 17 and not damaged
    assert numbers(record_reader.evaluation_batches(tmp_path / "records", left, 4)) == list(range(17))


def test_a_set_without_a_whole_record_is_refused(tmp_path):
    manifest, _ = small_records.write(tmp_path / "records", (2,))
    (tmp_path / "records" / manifest.shards[0].file).write_bytes(b"no records at all")
    with pytest.raises(ValueError, match="holds no complete record; make the records again"):
        leave_out_damaged(tmp_path / "records", manifest)
