import keras
import numpy as np
import pytest
import tensorflow as tf

from export.gate.stored_weights import check_stored_once
from export.saved_model import write_saved_model

WIDE = 700  # large enough for 5 % to be more than names


@pytest.fixture(scope="module")
def model():
    inputs = keras.Input([WIDE])
    return keras.Model(inputs, keras.layers.Dense(WIDE)(inputs))


def written(folder, answer):
    spec = tf.TensorSpec([None, WIDE], tf.float32, name="x")
    write_saved_model({"serving_default": (answer, [spec])}, folder)
    return folder


@pytest.mark.parametrize(
    ("kept", "sentence"),
    [
        (tf.Variable, r"stores 980,700 numbers as variables .* has 490,700 parameters"),
        (tf.constant, r"490,700 numbers as variables and 490,\d+ in its graph"),
    ],
)
def test_weights_stored_twice_are_refused(model, tmp_path, kept, sentence):
    twin = kept(np.random.default_rng(1).normal(size=(WIDE, WIDE)).astype(np.float32))
    folder = written(tmp_path / "1", lambda x: {"y": model(x) + x @ twin})
    with pytest.raises(ValueError, match=sentence):
        check_stored_once(folder, model.count_params())


def test_what_lies_beside_the_weights_must_be_small(model, tmp_path):
    folder = written(tmp_path / "1", lambda x: {"y": model(x)})
    (folder / "assets.extra").mkdir()
    (folder / "assets.extra" / "vocab.txt").write_bytes(bytes(3 * 2**20))
    (folder / "assets.extra" / "tf_serving_warmup_requests").write_bytes(bytes(3 * 2**20))
    check_stored_once(folder, model.count_params())  # vocabulary and requests are as large as they are
    (folder / "assets.extra" / "forgotten.bin").write_bytes(bytes(3 * 2**20))
    with pytest.raises(ValueError, match=r"takes [\d,]+ bytes for 1,962,800 bytes of weights"):
        check_stored_once(folder, model.count_params())
