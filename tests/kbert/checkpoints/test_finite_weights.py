"""Weights that are no numbers are refused by name, in every format, and only when they are read."""

import ml_dtypes
import numpy as np
import pytest

from kbert.checkpoints.formats import read_checkpoint
from kbert.files.stored_tensor import stored_array
from tests.kbert.checkpoints import foreign_files

SPOILED = "layer_1/feed_forward/output/kernel"  # lies transposed in some formats


def spoiled_weights(value, dtype=np.float32):
    weights = {name: array.astype(dtype) for name, array in foreign_files.random_weights().items()}
    weights[SPOILED][3, 2] = value
    return weights


def google(folder, weights, monkeypatch):
    foreign_files.write_google(folder, foreign_files.google_names(weights))
    return "bert/encoder/layer_1/output/dense/kernel"


def safetensors(folder, weights, monkeypatch):
    foreign_files.write_hugging_face(folder, foreign_files.hugging_face_names(weights, prefix=""))
    return "encoder.layer.1.output.dense.weight"


def torch_zip(folder, weights, monkeypatch, write=foreign_files.write_torch_zip):
    foreign_files.write_hugging_face(folder, {})
    (folder / "model.safetensors").unlink()
    write(folder / "pytorch_model.bin", foreign_files.hugging_face_names(weights, prefix=""), monkeypatch)
    return "encoder.layer.1.output.dense.weight"


def torch_legacy(folder, weights, monkeypatch):
    return torch_zip(folder, weights, monkeypatch, foreign_files.write_torch_legacy)


@pytest.mark.parametrize("value", [np.nan, -np.inf])
@pytest.mark.parametrize("write", [google, safetensors, torch_zip, torch_legacy])
def test_a_weight_that_is_no_number_is_named(tmp_path, monkeypatch, write, value):
    folder = tmp_path / "model"
    name = write(folder, spoiled_weights(value), monkeypatch)
    checkpoint = read_checkpoint(folder)  # names and shapes are read, no number yet
    for other, tensor in checkpoint.tensors.items():
        if other != SPOILED:
            assert np.isfinite(tensor.read()).all()
    with pytest.raises(ValueError, match=rf"{name} is {value} at \(\d, \d\); every weight must be") as error:
        checkpoint.tensors[SPOILED].read()
    assert "\n" not in str(error.value)


def test_float64_beyond_float32_is_refused_and_not_made_infinite(tmp_path, monkeypatch):
    safetensors(tmp_path / "model", spoiled_weights(1e300, np.float64), monkeypatch)
    with pytest.raises(ValueError, match=r"output.dense.weight is 1e\+300 at \(2, 3\); every weight must"):
        read_checkpoint(tmp_path / "model").tensors[SPOILED].read()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_short_floats_are_checked_too(dtype):
    tensor = stored_array(np.array([1.0, np.inf], dtype)).as_float32(what="file: name")
    with pytest.raises(ValueError, match=r"^file: name is inf at \(1,\); "):
        tensor.read()
    scalar = stored_array(np.array(np.nan, dtype)).as_float32(what="file: name")
    with pytest.raises(ValueError, match="^file: name is nan; "):
        scalar.read()
