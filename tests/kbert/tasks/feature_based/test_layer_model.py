"""The tagger as an ordinary Keras model: saved, loaded, trained by `fit`; every weight has a gradient."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.encoder import BertEncoder
from kbert.tasks import TASKS
from kbert.tasks.feature_based.layer_model import LayerModel
from kbert.tasks.feature_based.settings import READS
from tests.conftest import tiny_encoder_config
from tests.kbert.tasks.feature_based.small_features import HIDDEN_SIZE, NUM_LAYERS

RNG = np.random.default_rng(9)


def make_model(reads, precision="float32"):
    task = TASKS["feature_based_tagging"](
        ("O", "B-X", "I-X"), reads=reads, num_hidden_layers=NUM_LAYERS, hidden_size=HIDDEN_SIZE, lstm_size=8
    )
    return task.build_model(BertEncoder(tiny_encoder_config(num_hidden_layers=NUM_LAYERS), precision))


def make_batch(model):
    lengths = np.array([7, 1, 4, 6])
    mask = (np.arange(7) < lengths[:, np.newaxis]).astype(np.int32)
    labels = np.where(mask > 0, RNG.integers(0, 3, size=mask.shape), -100).astype(np.int32)
    batch = {
        name: RNG.normal(size=(4, 7, HIDDEN_SIZE)).astype(np.float32)
        for name in model.input
        if name != "input_mask"
    }
    return batch | {"input_ids": mask, "input_mask": mask, "label_ids": labels}


@pytest.mark.slow
@pytest.mark.parametrize("reads", READS)
def test_save_load_gradients_and_parts(reads, tmp_path):
    model = make_model(reads)
    batch = make_batch(model)
    outputs = model(batch)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert type(loaded) is LayerModel and loaded.task.get_config() == model.task.get_config()
    np.testing.assert_array_equal(loaded(batch)["logits"], outputs["logits"])

    tensors = {name: tf.constant(value) for name, value in batch.items()}
    with tf.GradientTape() as tape:
        sums = model.task.training_loss_sums(model(tensors, training=True), tensors)
    gradients = tape.gradient(sums["loss"], [v.value for v in model.trainable_variables])
    assert not [v.path for v, g in zip(model.trainable_variables, gradients, strict=True) if g is None]
    shapes = {name: shape for part in model.task.parts for name, shape in part.shapes(None).items()}
    assert {v.path: tuple(v.shape) for v in model.trainable_variables} == shapes


@pytest.mark.slow
def test_which_layers_reach_the_words():
    """Concatenation keeps the layers apart, the lowest first; a weighted sum begins as their mean."""
    model = make_model("weighted_sum_last_four")
    batch = make_batch(model)
    mean = np.mean([value for name, value in batch.items() if name.startswith("layer_output")], axis=0)
    same = batch | {name: mean for name in batch if name.startswith("layer_output")}
    np.testing.assert_allclose(model(batch)["logits"], model(same)["logits"], atol=1e-5)

    model = make_model("concat_last_four")
    other = batch | {"layer_output_1": 0 * mean}
    assert np.abs(np.array(model(batch)["logits"]) - model(other)["logits"]).max() > 1e-3
    names = {v.path: v for v in model.trainable_variables}
    kernel = names["bilstm_tagger/bilstm_0/forward_lstm/lstm_cell/kernel"]
    backward = names["bilstm_tagger/bilstm_0/backward_lstm/lstm_cell/kernel"]
    for one in (kernel, backward):  # the first rows are those of the lowest of the four layers
        one.assign(np.where(np.arange(4 * HIDDEN_SIZE)[:, np.newaxis] < HIDDEN_SIZE, 0.0, one))
    np.testing.assert_array_equal(model(batch)["logits"], model(other)["logits"])


@pytest.mark.slow
@pytest.mark.long
def test_fit_learns():
    model = make_model("weighted_sum_all", "mixed_bfloat16")
    batch = make_batch(model)
    model.compile(keras.optimizers.Adam(1e-2))
    history = model.fit(
        tf.data.Dataset.from_tensors(batch).repeat(6), epochs=2, verbose=0, shuffle=False
    ).history["loss"]
    assert history[1] < history[0]
