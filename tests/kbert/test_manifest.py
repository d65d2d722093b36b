import json

import pytest

from kbert.features import encoder_features, pretraining_features
from kbert.manifest import FILE_NAME, Manifest, Shard, read_manifest


def write_example(folder) -> Manifest:
    for name, content in (("a.tfrecord", b"1"), ("b.tfrecord", b"")):
        (folder / name).write_bytes(content)
    manifest = Manifest(
        kind="pretraining",
        features=pretraining_features(max_seq_length=16, max_predictions_per_seq=3),
        shards=(Shard("a.tfrecord", 3), Shard("b.tfrecord", 2)),
        vocabulary={"size": 7, "do_lower_case": True, "fingerprint": "0123456789abcdef"},
        settings={"input_files": "Bücher/*.txt", "masked_lm_prob": 0.15},
        statistics={"documents": 2},
    )
    manifest.write(folder)
    return manifest


def test_what_is_written_is_read_equal(tmp_path):
    manifest = write_example(tmp_path)
    assert read_manifest(tmp_path) == manifest
    assert manifest.num_examples == 5


def test_the_file_can_be_read_by_a_person(tmp_path):
    write_example(tmp_path)
    text = (tmp_path / FILE_NAME).read_text(encoding="utf-8")
    assert "Bücher" in text and text.endswith("}\n")
    values = json.loads(text)
    assert values["num_examples"] == 5
    assert values["features"]["masked_lm_weights"] == {"dtype": "float32", "shape": [3]}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tfrecord", "b.tfrecord", FILE_NAME]


def test_a_folder_without_a_manifest_is_no_finished_set(tmp_path):
    with pytest.raises(ValueError, match=r"holds no manifest\.json, so no finished set of records; make one"):
        read_manifest(tmp_path)


def test_a_missing_shard_is_named(tmp_path):
    write_example(tmp_path)
    (tmp_path / "b.tfrecord").unlink()
    with pytest.raises(ValueError, match=r"names the shard b\.tfrecord, which is not there"):
        read_manifest(tmp_path)


def broken_texts():
    whole = {"kind": "x", "shards": [], "vocabulary": {}, "settings": {}, "statistics": {}}
    yield "not json", "{"
    yield "no object", "[]"
    yield "a key is missing", json.dumps(whole)
    yield "features of another form", json.dumps(whole | {"features": ["input_ids"]})
    yield "a feature without a shape", json.dumps(whole | {"features": {"a": {"dtype": "int32"}}})
    yield "a shard with an unknown key", json.dumps(whole | {"features": {}, "shards": [{"name": "a"}]})


@pytest.mark.parametrize(
    "text", [text for _, text in broken_texts()], ids=[name for name, _ in broken_texts()]
)
def test_a_broken_manifest_is_an_error_of_one_sentence(tmp_path, text):
    (tmp_path / FILE_NAME).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"manifest\.json is broken .*; make the records again\."):
        read_manifest(tmp_path)


def test_bytes_that_are_no_utf8_are_a_broken_manifest(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b'{"kind": "\xff"}')
    with pytest.raises(ValueError, match=r"manifest\.json is broken"):
        read_manifest(tmp_path)


def test_features_have_the_names_and_shapes_of_the_original():
    features = pretraining_features(max_seq_length=128, max_predictions_per_seq=20)
    assert {name: (feature.dtype, feature.shape) for name, feature in features.items()} == {
        "input_ids": ("int32", (128,)),
        "input_mask": ("int32", (128,)),
        "segment_ids": ("int32", (128,)),
        "masked_lm_positions": ("int32", (20,)),
        "masked_lm_ids": ("int32", (20,)),
        "masked_lm_weights": ("float32", (20,)),
        "next_sentence_labels": ("int32", (1,)),
    }
    assert list(encoder_features(8)) == ["input_ids", "input_mask", "segment_ids"]
