"""A checkpoint's file that changes between the reading of its names and of its numbers is refused."""

import os

import pytest

from kbert.checkpoints.formats import read_checkpoint
from tests.kbert.checkpoints import foreign_files

FILES = {
    "safetensors": (
        "model.safetensors",
        lambda path, tensors, _: foreign_files.write_safetensors(path, tensors),
    ),
    "zip": ("pytorch_model.bin", foreign_files.write_torch_zip),
    "legacy": ("pytorch_model.bin", foreign_files.write_torch_legacy),
}


def replaced_by_another(file, write):
    """As a download or `git pull` replaces it: whole, with the same names and shapes."""
    write(file.with_name("new"), 2)
    os.replace(file.with_name("new"), file)


def cut_short(file, write):
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size * 2 // 3)


def removed(file, write):
    file.unlink()


@pytest.mark.parametrize("change", [replaced_by_another, cut_short, removed])
@pytest.mark.parametrize(("name", "write"), FILES.values(), ids=FILES)
def test_numbers_of_two_files_are_never_mixed(tmp_path, monkeypatch, name, write, change):
    def written(path, seed):
        weights = foreign_files.random_weights(seed=seed)
        write(path, foreign_files.hugging_face_names(weights), monkeypatch)

    folder = foreign_files.write_hugging_face(tmp_path / "m", {})
    (folder / "model.safetensors").unlink()
    written(folder / name, 1)
    first, *others = read_checkpoint(folder).tensors.values()
    first.read()
    change(folder / name, written)
    with pytest.raises(ValueError) as error:
        for tensor in others:
            tensor.read()
    assert str(folder / name) in str(error.value) and str(error.value).isprintable()
