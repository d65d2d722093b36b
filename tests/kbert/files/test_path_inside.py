"""What a checkpoint's files name lies in the checkpoint's folder."""

import json
import shutil

import pytest

from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.hugging_face.sentence_transformers import read_sentence_modules
from kbert.files.path_inside import path_inside
from tests.kbert.checkpoints import foreign_files

OUTSIDE = [
    "..",
    "../other",
    "a/../../other",
    "../../..",
    "/etc",
    "//etc",
    "C:\\x",
    "..\\other",
    "a\0b",
    "link",
]


@pytest.fixture
def folder(tmp_path):
    tensors = foreign_files.hugging_face_names(foreign_files.random_weights(), prefix="")
    folder = foreign_files.write_hugging_face(tmp_path / "model", tensors)
    other = tmp_path / "other"
    shutil.copytree(folder, other)
    (other / "config.json").write_text(json.dumps({"pooling_mode": "mean"}))
    (folder / "link").symlink_to(other)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode": "cls"}))
    return folder


def write_modules(folder, pooling="1_Pooling"):
    modules = [
        {"idx": index, "path": path, "type": f"sentence_transformers.models.{kind}"}
        for index, (path, kind) in enumerate([("", "Transformer"), (pooling, "Pooling")])
    ]
    (folder / "modules.json").write_text(json.dumps(modules))


@pytest.mark.parametrize("path", OUTSIDE)
def test_modules_elsewhere_are_refused(folder, path):
    write_modules(folder, path)
    with pytest.raises(ValueError, match="modules.json names the folder .*not in its own folder") as error:
        read_sentence_modules(folder)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("path", [f"{path}/model.safetensors" for path in OUTSIDE])
def test_shards_elsewhere_are_refused(folder, path):
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"pooler.dense.weight": path}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ValueError, match="index.json names the file .*not in its own folder") as error:
        read_checkpoint(folder)
    assert str(error.value).isprintable()


def test_the_hub_s_cache_is_made_of_links_to_files_elsewhere(folder, tmp_path):
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshots" / "0123"
    for file in [path for path in folder.rglob("*") if path.is_file()]:
        place = snapshot / file.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        blobs.mkdir(exist_ok=True)
        blob = blobs / str(hash(file.name + str(file.parent)))
        shutil.copy(file, blob)
        place.symlink_to(blob)
    write_modules(snapshot)
    assert read_sentence_modules(snapshot).vectors.mode == "cls"
    assert path_inside(snapshot, "model.safetensors", snapshot / "index", "file").is_file()
    assert not read_checkpoint(snapshot).missing
