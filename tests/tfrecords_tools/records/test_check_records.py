import os

import pytest
import tensorflow as tf

from kbert.input_pipelines.records import record_files
from kbert.input_pipelines.records.record_folders import RecordFolder
from tests.kbert.input_pipelines.records import small_records
from tfrecords_tools.records.check_records import check_records


@pytest.fixture
def records(tmp_path):
    directory = tmp_path / "records"
    return directory, small_records.write(directory, (6, 5))[0]


def test_every_damage_is_a_line(records, capsys):
    directory, manifest = records
    path = directory / manifest.shards[1].file
    raw = bytearray(path.read_bytes())
    raw[30] ^= 1
    path.write_bytes(raw)
    assert check_records(directory) == 1
    damage, summary = capsys.readouterr().out.splitlines()
    assert damage == f"{path} does not hold the bytes that were written: record 0 is damaged"
    assert f"{directory}: 11 records in 2 shards, 1 problems: make the records again" in summary


def test_records_missing_from_the_end_and_a_swapped_vocabulary_are_found(records, capsys):
    directory, manifest = records
    (directory / manifest.shards[0].file).write_bytes(b"")
    vocabulary = small_records.VOCABULARY
    type(vocabulary)(vocabulary.tokens[::-1], do_lower_case=True).write(directory / "vocab.txt")
    assert check_records(directory) == 2
    lines = capsys.readouterr().out.splitlines()
    assert "is not the vocabulary" in lines[0]
    assert lines[1].endswith("holds 0 records, but its manifest says 6")


@pytest.fixture
def equal_shards(tmp_path):
    directory = tmp_path / "records"
    return directory, [
        directory / shard.file for shard in small_records.write(directory, (5, 5, 5))[0].shards
    ]


def test_a_training_looks_at_the_bytes_before_it_begins(equal_shards, monkeypatch):
    directory, (_, shard, _) = equal_shards
    folder = RecordFolder(directory)
    folder.check()
    records = list(record_files.open_shard(shard).as_numpy_iterator())
    with tf.io.TFRecordWriter(str(shard)) as writer:  # the same records in another order: the same size
        for record in reversed(records):
            writer.write(record)
    with pytest.raises(ValueError, match=rf"{shard} does not hold .*; make the records again\.$"):
        folder.check()

    monkeypatch.setattr(record_files, "_MOST_BYTES_AT_START", 1)  # of larger sets, only the sizes
    folder.check()
    os.truncate(shard, shard.stat().st_size - 1)
    with pytest.raises(ValueError, match="record 4 is damaged; make the records again"):
        folder.check()
