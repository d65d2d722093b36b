"""Optimizer and schedule against the original's formulas in NumPy, step by step."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.encoder import BertEncoder
from kbert.tasks.pretraining import Pretraining
from kbert.training.optimizer import AdamWeightDecay, is_decayed
from kbert.training.schedule import LinearWarmupDecay
from tests.conftest import tiny_encoder_config


def original_rate(init, step, num_train_steps, num_warmup_steps):
    """google-research/bert, optimization.py, `create_optimizer`, in our words."""
    decayed = (init - 0.0) * (1.0 - min(step, num_train_steps) / num_train_steps) ** 1.0 + 0.0
    if num_warmup_steps and step < num_warmup_steps:
        return init * step / num_warmup_steps
    return decayed


@pytest.mark.parametrize(("steps", "warmup"), [(20, 5), (20, 0), (7, 7), (1, 0), (1000, 100)])
def test_schedule_is_the_originals_at_every_step(steps, warmup):
    schedule = LinearWarmupDecay(3e-4, steps, warmup)
    for step in range(0, steps + 3, max(1, steps // 100)):
        expected = original_rate(3e-4, step, steps, warmup)
        assert float(schedule(tf.constant(step, tf.int64))) == pytest.approx(expected, rel=1e-6, abs=1e-10)


def test_schedule_steps_down_where_warm_up_ends():
    schedule = LinearWarmupDecay(1.0, 100, 10)
    rates = [float(schedule(step)) for step in (0, 9, 10, 99, 100)]
    np.testing.assert_allclose(rates, [0.0, 0.9, 0.9, 0.01, 0.0], atol=1e-6)


def original_update(value, gradient, m, v, rate, decayed, config, step):
    """optimization.py, `apply_gradients`; with "adamw" the moments are corrected first."""
    m = config.beta_1 * m + (1.0 - config.beta_1) * gradient
    v = config.beta_2 * v + (1.0 - config.beta_2) * gradient**2
    if config.name == "adamw":
        # TensorFlow's Adam: epsilon beside the uncorrected root, both corrections in the rate.
        corrected = np.sqrt(1.0 - config.beta_2**step) / (1.0 - config.beta_1**step)
        update = corrected * m / (np.sqrt(v) + config.epsilon)
    else:
        update = m / (np.sqrt(v) + config.epsilon)
    if decayed:
        update = update + config.weight_decay * value
    return value - rate * update, m, v


@pytest.mark.parametrize("name", ["adam_weight_decay", "adamw"])
def test_updates_are_the_originals(name):
    rng = np.random.default_rng(4)
    config = OptimizerConfig(name=name, learning_rate=0.1, weight_decay=0.1, beta_2=0.98)
    start = {"layer/kernel": rng.normal(size=(3, 4)), "layer/bias": rng.normal(size=4)}
    variables = {key: keras.Variable(value.astype(np.float32), name="x") for key, value in start.items()}
    optimizer = AdamWeightDecay(config, variables)

    expected = {key: (value, np.zeros_like(value), np.zeros_like(value)) for key, value in start.items()}
    for step in range(12):
        rate = 0.1 / (step + 1)
        gradients = {key: rng.normal(size=value.shape) for key, value in start.items()}
        optimizer.apply(
            [tf.constant(g, tf.float32) for g in gradients.values()], tf.constant(rate), tf.constant(step)
        )
        for key, (value, m, v) in expected.items():
            decayed = key == "layer/kernel"
            expected[key] = original_update(value, gradients[key], m, v, rate, decayed, config, step + 1)
        for key, (value, m, v) in expected.items():
            np.testing.assert_allclose(variables[key], value, atol=2e-5)
            np.testing.assert_allclose(optimizer.slots()[f"{key}/adam_m"], m, atol=1e-6)
            np.testing.assert_allclose(optimizer.slots()[f"{key}/adam_v"], v, atol=1e-6)


def test_adamw_equals_kerass():
    rng = np.random.default_rng(5)
    start = rng.normal(size=(3, 4)).astype(np.float32)
    config = OptimizerConfig(name="adamw", weight_decay=0.1)
    ours, theirs = keras.Variable(start), keras.Variable(start)
    optimizer = AdamWeightDecay(config, {"kernel": ours})
    keras_optimizer = keras.optimizers.AdamW(0.05, weight_decay=0.1, epsilon=1e-6)
    for step in range(8):
        gradient = tf.constant(rng.normal(size=(3, 4)), tf.float32)
        optimizer.apply([gradient], tf.constant(0.05), tf.constant(step))
        keras_optimizer.apply([gradient], [theirs])
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_norms_and_biases_are_not_decayed_and_everything_else_is():
    model = Pretraining().build_model(BertEncoder(tiny_encoder_config()))
    kept = {v.path for v in model.trainable_variables if not is_decayed(v.path)}
    for variable in model.trainable_variables:
        norm_or_bias = variable.path.endswith(("bias", "gamma", "beta"))
        assert (variable.path in kept) == norm_or_bias, variable.path
    assert is_decayed("embeddings/word_embeddings") and is_decayed("pooler/dense/kernel")
    assert not is_decayed("bert/encoder/layer_0/attention/output/LayerNorm/gamma")
