import hashlib

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kbert.features import Feature
from kbert.manifest import read_manifest
from tests.tfrecords_tools import small_corpus
from tests.tfrecords_tools.written_records import write_records
from tfrecords_tools.records.record_writer import ShardWriter, check_output_dir, record_folder
from tfrecords_tools.records.tfrecord_files import encode_examples, framed, open_records, split_records

VOCABULARY = small_corpus.vocabulary()
FEATURES = {"input_ids": Feature("int32", (4,)), "weight": Feature("float32", ())}


def batch(first, last):
    numbers = np.arange(first, last)
    return {"input_ids": np.repeat(numbers[:, None], 4, axis=1), "weight": numbers / 2}


def write_ten(output_dir, num_shards=3, overwrite=False):
    batches = [batch(0, 6), batch(6, 10)]
    return write_records(output_dir, batches, "toy", FEATURES, VOCABULARY, num_shards, overwrite=overwrite)


def read_shard(path):
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        yield tf.train.Example.FromString(record).features.feature


# ------------------------------------------------------------------------------ what is written


def test_examples_go_to_the_shards_in_turn_and_the_manifest_counts_them(tmp_path):
    manifest = write_ten(tmp_path / "out")
    assert [(shard.file, shard.num_examples) for shard in manifest.shards] == [
        ("toy-00000-of-00003.tfrecord", 4),
        ("toy-00001-of-00003.tfrecord", 3),
        ("toy-00002-of-00003.tfrecord", 3),
    ]
    assert read_manifest(tmp_path / "out") == manifest
    for index, shard in enumerate(manifest.shards):
        records = list(read_shard(tmp_path / "out" / shard.file))
        assert [list(record["input_ids"].int64_list.value) for record in records] == [
            [number] * 4 for number in range(index, 10, 3)
        ]
        assert [list(record["weight"].float_list.value) for record in records] == [
            [number / 2] for number in range(index, 10, 3)
        ]


@settings(max_examples=100)
@given(
    integers=hnp.arrays(np.int64, st.tuples(st.just(3), st.integers(0, 40))),
    small=hnp.arrays(np.int32, (3, 150), elements=st.integers(0, 200)),
    floats=hnp.arrays(np.float32, (3, 2), elements=st.floats(width=32, allow_nan=False)),
)
def test_encoded_examples_are_the_bytes_of_tf_train_example(integers, small, floats):
    columns = {"z": integers, "input_ids": small, "a_long_name" * 20: small, "weights": floats}
    features = {
        name: Feature("float32" if name == "weights" else "int32", values.shape[1:])
        for name, values in columns.items()
    }
    for index, received in enumerate(encode_examples(columns, features)):
        example = tf.train.Example()
        for name, values in columns.items():
            if name == "weights":
                example.features.feature[name].float_list.value.extend(values[index])
            else:
                example.features.feature[name].int64_list.value.extend(values[index])
        assert received == example.SerializeToString(deterministic=True)


@pytest.mark.parametrize("largest", [0, 127, 128, (1 << 14) - 1, 1 << 14, (1 << 32) - 1, 1 << 32, -1])
def test_the_largest_number_of_a_batch_decides_how_it_is_written(largest):
    (received,) = encode_examples({"a": np.array([[0, largest]])}, {"a": Feature("int32", (2,))})
    example = tf.train.Example()
    example.features.feature["a"].int64_list.value.extend([0, largest])
    assert received == example.SerializeToString(deterministic=True)


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_files_are_the_bytes_of_tensorflows_writer(tmp_path, compression):
    generator = np.random.default_rng(0)
    # Checksums take four bytes at a time, and a compressor more than one block.
    records = [generator.bytes(length) for length in [*range(20), 255, 256, 70_000]] * 10
    records += [b"repeated" * length for length in generator.integers(0, 90, 2000)]
    with tf.io.TFRecordWriter(
        str(tmp_path / "expected"), compression.upper() if compression == "gzip" else None
    ) as file:
        for record in records:
            file.write(record)
    with open_records(tmp_path / "received", compression) as file:
        for start in range(0, len(records), 64):
            file.write(b"".join(framed(records[start : start + 64])))
    assert (tmp_path / "received").read_bytes() == (tmp_path / "expected").read_bytes()
    assert split_records(tmp_path / "received", compression) == framed(records)
    assert framed([]) == []


# ------------------------------------------------------------------------------ whole or not there


def test_overwrite_replaces_the_old_records_once_the_new_are_whole(tmp_path):
    write_ten(tmp_path / "out", num_shards=5)
    write_ten(tmp_path / "out", num_shards=2, overwrite=True)
    assert len(read_manifest(tmp_path / "out").shards) == 2
    assert len(list((tmp_path / "out").iterdir())) == 4, "two shards, manifest, vocabulary"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_overwrite_never_deletes_other_files(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").touch()
    with pytest.raises(ValueError, match=r"what is not a set of records, such as \['thesis\.tex'\]"):
        check_output_dir(tmp_path / "out", overwrite=True)
    (tmp_path / "out" / "thesis.tex").rename(tmp_path / "out" / "others.tfrecord")
    with pytest.raises(ValueError, match=r"is not a set of records, such as \['others\.tfrecord'\]"):
        check_output_dir(tmp_path / "out", overwrite=True)


@pytest.mark.parametrize("compression", ["none", "gzip"])
@pytest.mark.parametrize("shuffle_seed", [None, 3])
def test_a_full_disk_is_a_sentence_and_leaves_nothing(tmp_path, shuffle_seed, compression, largest_file):
    features = {"input_ids": Feature("int32", (64,))}
    rows = {"input_ids": np.random.default_rng(0).integers(0, 1 << 31, (2000, 64))}
    records = encode_examples(rows, features)
    with pytest.raises(OSError, match=r"File too large: '.*/out'"), largest_file(1 << 14):
        with record_folder(tmp_path / "out") as folder:
            with ShardWriter(folder, "toy", 3, compression, shuffle_seed) as shards:
                shards.write(records)
    assert list(tmp_path.iterdir()) == []


def test_shards_are_described_by_their_bytes(tmp_path):
    manifest = write_ten(tmp_path / "out", num_shards=3)
    for shard in manifest.shards:
        content = (tmp_path / "out" / shard.file).read_bytes()
        assert (shard.num_bytes, shard.sha256) == (len(content), hashlib.sha256(content).hexdigest())
