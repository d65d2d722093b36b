"""Checkpoints are whole or refused, and a refused one assigns nothing."""

import errno
import json
import os
import zlib
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.runs.checkpoint import (
    DamagedCheckpoint,
    list_checkpoints,
    newest_whole_checkpoint,
    read_state,
    restore,
    save_checkpoint,
    verify,
)

WEIGHTS = {"a/kernel": np.arange(6, dtype=np.float32).reshape(2, 3), "a/bias": np.ones(3, np.float32)}
SLOTS = {"a/kernel/adam_m": np.full((2, 3), 2.0, np.float32)}


def variables(values=WEIGHTS):
    return {name: keras.Variable(value) for name, value in values.items()}


def zeros(**shapes):
    named = {"a/kernel": (2, 3), "a/bias": (3,)} | {name.replace("_", "/"): s for name, s in shapes.items()}
    return {name: keras.Variable(np.zeros(shape, np.float32)) for name, shape in named.items()}


def save(directory, step=5, keep=2, **state):
    return save_checkpoint(directory, step, variables(), variables(SLOTS), state, keep)


def test_what_is_saved_comes_back(tmp_path):
    folder = save(tmp_path, examples_consumed=40)
    restored = zeros()
    restore(folder / "model.safetensors", restored)
    for name, value in WEIGHTS.items():
        np.testing.assert_array_equal(restored[name].numpy(), value)
    state = read_state(folder)
    files = state.pop("files")
    assert state == {"format_version": 1, "step": 5, "examples_consumed": 40}
    assert files == {
        name: {"bytes": len(content), "crc32": f"{zlib.crc32(content):08x}"}
        for name in ("model.safetensors", "optimizer.safetensors")
        for content in [(folder / name).read_bytes()]
    }
    assert json.loads((folder / "state.json").read_text()).items() >= read_state(folder).items()


def test_all_is_on_the_disk_before_the_folder_has_its_name(tmp_path, monkeypatch):
    """So that a power cut leaves a whole checkpoint or none."""
    calls = []
    fsync, rename = os.fsync, Path.rename

    def noted_fsync(descriptor):
        calls.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def noted_rename(path, target):
        calls.append("rename")
        return rename(path, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(Path, "rename", noted_rename)
    save(tmp_path / "checkpoints")
    *before, rename_call, folder = calls
    assert (rename_call, folder) == ("rename", "checkpoints")
    files = {"model.safetensors", "optimizer.safetensors", "state.json"}
    assert set(before) == files | {"step-00000005.tmp"} and before[-1] == "step-00000005.tmp"


@pytest.mark.parametrize("damaged", [False, True])
def test_another_state_of_a_step_takes_its_place_at_once(tmp_path, monkeypatch, damaged):
    """A kill at any moment leaves the old one or the new one."""
    folder = save(tmp_path, seconds=1)
    if damaged:
        (folder / "model.safetensors").write_bytes(b"")
    else:
        monkeypatch.setattr(Path, "rename", None)
    assert save(tmp_path, seconds=2) == folder
    assert list_checkpoints(tmp_path) == [folder] == list(tmp_path.iterdir())
    verify(folder)
    assert read_state(folder)["seconds"] == 2


def test_the_newest_and_the_best_are_kept_and_unfinished_ones_ignored(tmp_path):
    (tmp_path / "step-00000099.tmp").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "step-00000098").write_text("a file")
    (tmp_path / "step-00000010.tmp").mkdir()  # a leftover of a kill
    for step in (1, 2, 3, 10, 10):
        save_checkpoint(tmp_path, step, variables(), variables(SLOTS), {}, keep=2, spared=[1, None])
    names = [path.name for path in list_checkpoints(tmp_path)]
    assert names == ["step-00000001", "step-00000003", "step-00000010"]
    verify(tmp_path / names[-1])
    assert (tmp_path / "notes").exists()
    assert list_checkpoints(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            {"a_bias": (4,)},
            "a/bias has shape (3,), but this model's is (4,); use the encoder config that the checkpoint was",
        ),
        (
            {"b_bias": (3,)},
            "has no tensor for 1 of 3 variables, for example 'b/bias': it belongs to another model.",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_assigns_nothing(tmp_path, wanted, sentence):
    restored = zeros(**wanted)
    with pytest.raises(ValueError) as error:
        restore(save(tmp_path) / "model.safetensors", restored)
    assert sentence in str(error.value) and "model.safetensors" in str(error.value)
    assert not any(variable.numpy().any() for variable in restored.values())


def test_tensors_without_a_place_are_refused(tmp_path):
    path = save(tmp_path) / "model.safetensors"
    restored = zeros()
    del restored["a/bias"]
    with pytest.raises(ValueError, match="holds tensors that this model does not have, for example 'a/bias'"):
        restore(path, restored)
    assert not restored["a/kernel"].numpy().any()


# --------------------------------------------------------------------------------------- damage


def flip_a_bit(path, byte):
    content = bytearray(path.read_bytes())
    content[byte] ^= 1
    path.write_bytes(content)


DAMAGES = {
    "bit in the weights": (
        lambda folder: flip_a_bit(folder / "model.safetensors", -1),
        "model.safetensors is not what was written (CRC-32 ",
    ),
    "cut short": (
        lambda folder: (folder / "model.safetensors").write_bytes(b"half"),
        "model.safetensors has 4 bytes, but 204 were written.",
    ),
    "missing": (
        lambda folder: (folder / "optimizer.safetensors").unlink(),
        "optimizer.safetensors cannot be read (No such file or directory).",
    ),
    "no state": (
        lambda folder: (folder / "state.json").unlink(),
        "state.json does not exist.",
    ),
    "another number in the state": (
        lambda folder: (folder / "state.json").write_text(
            (folder / "state.json").read_text().replace("40", "41")
        ),
        "state.json is not what was written.",
    ),
}  # fmt: skip


def test_what_git_lfs_has_not_fetched_is_no_damage(tmp_path):
    folder = save(tmp_path, 6, examples_consumed=40)
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    for read in (verify, lambda folder: newest_whole_checkpoint(folder.parent)):
        with pytest.raises(ValueError, match="model.safetensors is a pointer of Git LFS.*git lfs pull"):
            read(folder)
    assert folder.is_dir()


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES.values(), ids=DAMAGES.keys())
def test_a_damaged_newest_checkpoint_gives_way_to_the_one_before(tmp_path, caplog, damage, sentence):
    older, newest = save(tmp_path, 5, examples_consumed=40), save(tmp_path, 6, examples_consumed=40)
    damage(newest)
    with pytest.raises(DamagedCheckpoint) as error:
        verify(newest)
    assert sentence in str(error.value)
    assert newest_whole_checkpoint(tmp_path) == older
    assert "DAMAGED CHECKPOINT" in caplog.text and sentence in caplog.text
    assert "Going back to step-00000005 instead" in caplog.text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000005", "step-00000006.damaged"]
    # What is damaged takes no good one's place, and goes when training has gone past it.
    save(tmp_path, 6, keep=1)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000006"]


def test_old_ones_go_and_whole_ones_stay_where_no_folder_can_be_renamed(tmp_path, monkeypatch):
    """As in a container whose image had the run: nothing was deleted, but for whole ones in the place of a
    damaged one."""
    for step in (5, 6, 9):
        newest = save(tmp_path, step, keep=3)
    flip_a_bit(newest / "model.safetensors", -1)
    rename = os.rename

    def failing(old, new):
        if Path(new).suffix == ".damaged":
            raise PermissionError
        if not Path(old).suffix:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(old, new)

    monkeypatch.setattr(os, "rename", failing)
    assert newest_whole_checkpoint(tmp_path).name == "step-00000006"
    save(tmp_path, 7, keep=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000007", "step-00000009"]


def test_when_none_can_be_read_nothing_begins_anew(tmp_path):
    for step in (5, 6):
        flip_a_bit(save(tmp_path, step) / "model.safetensors", -1)
    with pytest.raises(ValueError) as error:
        newest_whole_checkpoint(tmp_path)
    assert f"{tmp_path} holds 2 checkpoint(s), none of which can be read: " in str(error.value)
    assert "Restore one from a copy, or begin again in a new run_dir." in str(error.value)
    assert len(list_checkpoints(tmp_path)) == 2
    assert newest_whole_checkpoint(tmp_path / "nowhere") is None


def test_a_full_disk_leaves_the_older_checkpoints_and_nothing_else(tmp_path, largest_file):
    """The kernel refuses to let a file grow, in the middle of the weights."""
    older = save(tmp_path, 5)
    before = {path.name: path.read_bytes() for path in older.iterdir()}
    with largest_file(100), pytest.raises(OSError, match="File too large"):
        save(tmp_path, 6)
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]
    assert {path.name: path.read_bytes() for path in older.iterdir()} == before
    verify(older)


def test_numbers_of_every_type_and_shape_come_back(tmp_path):
    """Loss scaling has scalars and whole numbers."""
    slots = {
        "scale": tf.Variable(2.0**15),
        "good_steps": tf.Variable(2**40 + 1, dtype=tf.int64),
        "empty": tf.Variable(np.zeros((0, 3), np.float32)),
    }
    folder = save_checkpoint(tmp_path, 1, {}, slots, {}, keep=1)
    verify(folder)
    expected = {name: variable.numpy() for name, variable in slots.items()}
    for variable in slots.values():
        variable.assign(tf.zeros_like(variable))
    restore(folder / "optimizer.safetensors", slots)
    for name, value in expected.items():
        np.testing.assert_array_equal(slots[name].numpy(), value)
        assert slots[name].numpy().dtype == value.dtype
