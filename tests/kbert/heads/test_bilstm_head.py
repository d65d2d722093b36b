"""The BiLSTM tagger's head beside NumPy, and what padding does to it: nothing."""

import numpy as np
import pytest

from kbert.heads.bilstm_head import LSTM_LAYERS, BiLstmHead, ScalarMix
from tests.layer_checks import layer_config

RNG = np.random.default_rng(8)
VECTORS = RNG.normal(size=(3, 5, 6)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], np.int32)


def make_head(**kwargs):
    config = layer_config(hidden_dropout_prob=0.2, initializer_range=0.5)
    return BiLstmHead(config, 3, width=8, name="tagger", **kwargs)


@pytest.fixture(scope="module")
def head():
    made = make_head()
    made(VECTORS, MASK)
    for variable in made.trainable_variables:
        variable.assign(RNG.normal(scale=0.6, size=variable.shape))
    return made


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, kernel, recurrent, bias):
    """Hochreiter and Schmidhuber's LSTM with a forget gate; the gates in Keras's order, i, f, c, o."""
    half = len(recurrent)
    state, memory, outputs = np.zeros(half), np.zeros(half), []
    for vector in x:
        i, f, c, o = np.split(vector @ kernel + state @ recurrent + bias, 4)
        memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(c)
        state = sigmoid(o) * np.tanh(memory)
        outputs.append(state)
    return np.array(outputs)


def reference(head, x):
    weights = {v.path: np.array(v, np.float64) for v in head.trainable_variables}
    for number in range(LSTM_LAYERS):
        both = []
        for direction, step in (("forward", 1), ("backward", -1)):
            cell = f"tagger/bilstm_{number}/{direction}_lstm/lstm_cell"
            names = ("kernel", "recurrent_kernel", "bias")
            both.append(lstm(x[::step], *(weights[f"{cell}/{name}"] for name in names))[::step])
        x = np.concatenate(both, axis=-1)
    return x @ weights["tagger/dense/kernel"] + weights["tagger/dense/bias"]


def test_each_sentence_gets_what_it_gets_without_padding(head):
    logits = np.array(head(VECTORS, MASK))
    for row, length in enumerate(MASK.sum(axis=1)):
        np.testing.assert_allclose(logits[row, :length], reference(head, VECTORS[row, :length]), atol=1e-5)


@pytest.mark.long
def test_xla_compiles_it(head):
    import tensorflow as tf

    compiled = tf.function(lambda *inputs: head(*inputs), jit_compile=True)
    np.testing.assert_allclose(
        compiled(tf.constant(VECTORS), tf.constant(MASK)), head(VECTORS, MASK), atol=1e-5
    )


def test_the_scalar_mix_by_hand():
    layers = [RNG.normal(size=(2, 3, 4)).astype(np.float32) for _ in range(3)]
    mix, side_by_side = ScalarMix(num_layers=3), np.concatenate(layers, axis=-1)
    np.testing.assert_allclose(mix(side_by_side), np.mean(layers, axis=0), atol=1e-6)  # before training
    weights = np.array([0.5, -1.0, 2.0], np.float32)
    mix.layer_weights.assign(weights)
    mix.scale.assign(1.5)
    shares = np.exp(weights) / np.exp(weights).sum()
    expected = 1.5 * sum(share * layer for share, layer in zip(shares, layers, strict=True))
    np.testing.assert_allclose(mix(side_by_side), expected, atol=1e-6)
