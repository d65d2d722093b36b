import dataclasses
import json

import pytest

from kbert.features import encoder_features, pretraining_features
from kbert.files.json_values import shown
from kbert.manifest import FILE_NAME, FORMAT_VERSION, Manifest, _checksum, describe_shards, read_manifest


def write_example(folder) -> Manifest:
    for name, content in (("a.tfrecord", b"1"), ("b.tfrecord", b"")):
        (folder / name).write_bytes(content)
    manifest = Manifest(
        kind="pretraining",
        features=pretraining_features(max_seq_length=16, max_predictions_per_seq=3),
        shards=describe_shards(folder, {"a.tfrecord": 3, "b.tfrecord": 2}),
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


def change(folder, **values):
    """Writes other values into the manifest of a folder."""
    path = folder / FILE_NAME
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def sign(folder, **values):
    """The same with a checksum that is right, as anybody can write it."""
    change(folder, **values)
    content = json.loads((folder / FILE_NAME).read_text())
    change(folder, checksum=_checksum(content))


DIGEST = {"num_bytes": 1, "sha256": "0" * 64}
PATHS = ["../other/b.tfrecord", "{elsewhere}", "folder/b.tfrecord", "./b.tfrecord", ".."]


@pytest.mark.parametrize("name", [*PATHS, "", "b\\c", "b\0", "b\n", "\ud800", 300 * "b", 7, None])
def test_a_shard_is_a_plain_file_name_in_its_folder(tmp_path, name):
    folder, other = tmp_path / "records", tmp_path / "other"
    for path in (folder, other, folder / "folder"):
        path.mkdir()
        (path / "b.tfrecord").write_bytes(b"secret")
    write_example(folder)
    name = name.format(elsewhere=other / "b.tfrecord") if isinstance(name, str) else name
    sign(folder, shards=[{"file": name, "num_examples": 2} | DIGEST])

    with pytest.raises(ValueError, match="is broken .*is not a plain file name") as error:
        read_manifest(folder)
    assert shown(name) in str(error.value)


def test_the_format_has_a_version_and_a_newer_one_is_refused(tmp_path):
    write_example(tmp_path)
    values = json.loads((tmp_path / FILE_NAME).read_text())
    assert values["format_version"] == FORMAT_VERSION

    newer = FORMAT_VERSION + 1
    change(tmp_path, format_version=FORMAT_VERSION - 1)
    with pytest.raises(ValueError, match=f"but this kbert reads {FORMAT_VERSION}; make the records again"):
        read_manifest(tmp_path)
    change(tmp_path, format_version=newer, shards="of another form")
    sentence = f"was written by a newer kbert: its format_version is {newer}, and this one reads up to"
    with pytest.raises(ValueError, match=sentence):
        read_manifest(tmp_path)
    for wrong in ("1", -1, 1.5, True, None):
        change(tmp_path, format_version=wrong)
        with pytest.raises(ValueError, match="format_version=.* should be a whole number"):
            read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"shards": [{"file": "a.tfrecord", "num_examples": -1} | DIGEST]}, "a.tfrecord has the sizes"),
        ({"shards": [{"file": "a.tfrecord"}]}, "num_examples"),
        ({"features": {"a": {"dtype": "int32", "shape": [1 << 13, 1 << 13]}}}, "feature 'a' has more than"),
        ({"features": {"a": {"dtype": "int32", "shape": ["7"]}}}, "feature 'a' has the sizes"),
        ({"features": {"a": {"dtype": "string", "shape": [7]}}}, "feature 'a' has dtype 'string'"),
        ({"features": []}, "items"),
        ({"vocabulary": {"size": 7, "do_lower_case": True}}, "'fingerprint'"),
        ({"vocabulary": {"fingerprint": "0", "do_lower_case": True}}, "'size'"),
        ({"vocabulary": {"size": "7", "fingerprint": "0", "do_lower_case": True}}, "has the sizes"),
        ({"settings": []}, "settings should be an object"),
    ],
)
def test_a_right_checksum_allows_no_more_than_records_hold(tmp_path, values, sentence):
    write_example(tmp_path)
    sign(tmp_path, **values)
    with pytest.raises(ValueError, match=f"is broken .*{sentence}.*; make the records again"):
        read_manifest(tmp_path)


def test_a_manifest_that_was_edited_is_refused(tmp_path):
    """Two labels that changed places are as valid as before, and would train exchanged classes."""
    manifest = dataclasses.replace(
        write_example(tmp_path), settings={"labels": ["loud", "quiet"], "rate": 0.1}
    )
    manifest.write(tmp_path)
    assert read_manifest(tmp_path) == manifest
    written = json.loads((tmp_path / FILE_NAME).read_text())
    edits = [
        {"settings": {"labels": ["quiet", "loud"], "rate": 0.1}},
        {"num_examples": 6},
        {"checksum": None},
    ]
    for edit in edits:
        change(tmp_path, **written | edit)
        with pytest.raises(ValueError, match=r"not the content .*; make the records again\."):
            read_manifest(tmp_path)
    change(tmp_path, **dict(reversed(written.items())))
    assert read_manifest(tmp_path) == manifest  # the order of names and white space say nothing


def test_the_fingerprint_is_of_the_content_alone(tmp_path):
    manifest = write_example(tmp_path)
    same = dataclasses.replace(manifest, settings={"input_files": "elsewhere"}, statistics={})
    features = dict(reversed(manifest.features.items()))
    assert dataclasses.replace(same, features=features).fingerprint == manifest.fingerprint
    assert read_manifest(tmp_path).fingerprint == manifest.fingerprint

    (tmp_path / "a.tfrecord").write_bytes(b"2")
    others = [
        dataclasses.replace(manifest, shards=describe_shards(tmp_path, {"a.tfrecord": 3, "b.tfrecord": 2})),
        dataclasses.replace(manifest, shards=manifest.shards[::-1]),
        dataclasses.replace(manifest, features=pretraining_features(8, 3)),
        dataclasses.replace(manifest, vocabulary=manifest.vocabulary | {"fingerprint": "another"}),
    ]
    assert len({manifest.fingerprint, *(other.fingerprint for other in others)}) == 5


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
