"""Checkpoints are whole or refused, and a refused one assigns nothing."""

import json

import keras
import numpy as np
import pytest

from kbert.training.checkpoint import list_checkpoints, read_state, restore, save_checkpoint

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
    assert read_state(folder) == {"step": 5, "examples_consumed": 40}
    assert json.loads((folder / "state.json").read_text()) == read_state(folder)


def test_the_newest_are_kept_and_unfinished_ones_ignored(tmp_path):
    (tmp_path / "step-00000099.tmp").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "step-00000098").write_text("a file")
    for step in (1, 2, 3, 10):
        save(tmp_path, step, keep=2)
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-00000003", "step-00000010"]
    assert (tmp_path / "notes").exists()
    assert list_checkpoints(tmp_path / "nowhere") == []


def test_a_leftover_of_a_kill_is_replaced(tmp_path):
    leftover = tmp_path / "step-00000005.tmp"
    leftover.mkdir()
    (leftover / "model.safetensors").write_bytes(b"half")
    save(tmp_path, 5)
    save(tmp_path, 5)  # the same step again, after a resume from an older one
    assert [path.name for path in tmp_path.iterdir()] == ["step-00000005"]
    restore(tmp_path / "step-00000005" / "model.safetensors", zeros())


def test_steps_are_ordered_as_numbers(tmp_path):
    for name in ("step-100000000", "step-99999999"):
        (tmp_path / name).mkdir()
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-99999999", "step-100000000"]


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (
            {"a_bias": (4,)},
            "a/bias has shape (3,), but this model's is (4,); use the encoder config that the checkpoint was",
        ),
        (
            {"b_bias": (3,)},
            "lacks 1 of 3 tensors, for example 'b/bias': it belongs to another model.",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_assigns_nothing(tmp_path, wanted, sentence):
    restored = zeros(**wanted)
    with pytest.raises(ValueError) as error:
        restore(save(tmp_path) / "model.safetensors", restored)
    assert sentence in str(error.value) and "model.safetensors" in str(error.value)
    assert not any(variable.numpy().any() for variable in restored.values())


def test_tensors_without_a_place_are_refused_unless_allowed(tmp_path):
    path = save(tmp_path) / "model.safetensors"
    restored = zeros()
    del restored["a/bias"]
    with pytest.raises(
        ValueError, match="holds tensors that this model has no place for, for example 'a/bias'"
    ):
        restore(path, restored)
    assert not restored["a/kernel"].numpy().any()
    restore(path, restored, allow_unused=True)
    np.testing.assert_array_equal(restored["a/kernel"].numpy(), WEIGHTS["a/kernel"])


@pytest.mark.parametrize("length", [0, 5, 60, -1])
def test_a_file_cut_short_assigns_nothing(tmp_path, length):
    path = save(tmp_path) / "model.safetensors"
    path.write_bytes(path.read_bytes()[:length])
    restored = zeros()
    with pytest.raises(ValueError, match="model.safetensors is not a whole safetensors file: "):
        restore(path, restored)
    assert not any(variable.numpy().any() for variable in restored.values())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="checkpoint file .*model.safetensors does not exist"):
        restore(tmp_path / "model.safetensors", zeros())
