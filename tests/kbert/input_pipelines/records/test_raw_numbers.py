"""Large features as bytes: written, read and refused."""

import json

import numpy as np
import pytest
import tensorflow as tf

from kbert.features import Feature
from kbert.input_pipelines.records import raw_numbers
from kbert.input_pipelines.records.record_reader import SHUFFLE_BUFFER, evaluation_batches, shuffle_buffer
from kbert.manifest import Manifest, Shard, read_manifest
from tests.tfrecords_tools import small_corpus
from tfrecords_tools.records.record_writer import RecordWriter, encode_examples
from tfrecords_tools.records.stored_records import read_batches, read_records

RNG = np.random.default_rng(2)
ROWS = [RNG.normal(size=(n, 3)).astype(np.float32) for n in (2, 0, 4)]
# Significant bits -> the largest change of a number, relative to it.
PRECISION = {"float32": 0.0, "float16": 2**-11, "bfloat16": 2**-8}


def feature_of(stored):
    return Feature("float32", (4, 3), stored)


def padded(rows):
    return np.stack([np.pad(row, ((0, 4 - len(row)), (0, 0))) for row in rows])


@pytest.mark.parametrize("stored", PRECISION)
def test_numbers_come_back_rounded_and_padded(stored):
    encoded = raw_numbers.encode("vectors", ROWS, feature_of(stored))
    assert [len(one) for one in encoded] == [
        len(row) * 3 * raw_numbers.bytes_of_number(stored) for row in ROWS
    ]
    decoded = raw_numbers.decode(tf.constant(encoded), feature_of(stored)).numpy()
    assert decoded.shape == (3, 4, 3) and decoded.dtype == np.float32
    np.testing.assert_allclose(decoded, padded(ROWS), rtol=PRECISION[stored], atol=0)
    assert stored == "float32" or (decoded != padded(ROWS)).any()


@pytest.mark.parametrize("stored", PRECISION)
def test_records_hold_them(tmp_path, stored):
    features = {"input_ids": Feature("int32", (2,)), "vectors": feature_of(stored)}
    ids = np.arange(6).reshape(3, 2)
    with RecordWriter(
        tmp_path / "out", kind="toy", features=features, vocabulary=small_corpus.vocabulary()
    ) as writer:
        writer.write({"input_ids": ids, "vectors": ROWS})
        manifest = writer.finish()
    assert read_manifest(tmp_path / "out") == manifest and manifest.features == features
    (batch,) = evaluation_batches(tmp_path / "out", manifest, 8)
    np.testing.assert_allclose(batch["vectors"], padded(ROWS), rtol=PRECISION[stored], atol=0)
    np.testing.assert_array_equal(batch["input_ids"], ids)
    (stored_batch,) = read_batches(tmp_path / "out", manifest, 8)
    np.testing.assert_array_equal(stored_batch["vectors"], batch["vectors"])
    one_by_one = [example["vectors"] for example in read_records(tmp_path / "out", manifest)]
    np.testing.assert_array_equal(one_by_one, batch["vectors"])


def test_the_bytes_are_those_of_protobuf():
    feature = feature_of("bfloat16")
    for record, row in zip(encode_examples({"vectors": ROWS}, {"vectors": feature}), ROWS, strict=True):
        example = tf.train.Example()
        (content,) = raw_numbers.encode("vectors", [row], feature)
        example.features.feature["vectors"].bytes_list.value.append(content)
        assert record == example.SerializeToString(deterministic=True)


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="not finite as float16 .the largest is 70000.; store it as float32"):
        raw_numbers.encode("vectors", [np.full((1, 3), 7e4, np.float32)], feature_of("float16"))
    assert raw_numbers.encode("vectors", [np.full((1, 3), 7e4, np.float32)], feature_of("bfloat16"))
    for shape in ((5, 3), (2, 4)):
        with pytest.raises(ValueError, match="has shape .*, expected at most"):
            raw_numbers.encode("vectors", [np.zeros(shape, np.float32)], feature_of("float32"))


@pytest.mark.parametrize("content", [b"\0" * 7, b"\0" * 30])
def test_bytes_that_are_no_rows_are_refused(content):
    with pytest.raises(tf.errors.InvalidArgumentError, match="not whole rows of numbers"):
        raw_numbers.decode(tf.constant([content]), feature_of("float16"))


@pytest.mark.parametrize(
    "feature", [{"stored": "float64"}, {"stored": None}, {"stored": "float16", "shape": []}]
)
def test_a_manifest_with_another_way_of_storing_is_broken(tmp_path, feature):
    manifest = Manifest("toy", {"vectors": feature_of("float16")}, (), small_corpus.vocabulary().describe())
    manifest.write(tmp_path)
    assert read_manifest(tmp_path).features == manifest.features
    values = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    values["features"]["vectors"] |= feature
    (tmp_path / "manifest.json").write_text(json.dumps(values), encoding="utf-8")
    with pytest.raises(ValueError, match="feature 'vectors' is stored as"):
        read_manifest(tmp_path)


def test_fewer_large_records_are_shuffled_at_a_time():
    def buffer(num_examples, num_bytes):
        shard = Shard("a.tfrecord", num_examples, num_bytes, "0" * 64)
        return shuffle_buffer(Manifest("toy", {}, (shard,), {}))

    assert buffer(20_000, 20_000 * 5_000) == SHUFFLE_BUFFER
    assert buffer(20_000, 20_000 * (1 << 20)) == 1024
    assert buffer(3, 3 * (1 << 31)) == 1
