"""Every optimizer against its formula in NumPy, in every way that a training step runs it."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.training.optimizers import make_optimizer
from kbert.training.optimizers.optimizer import FUSED_FROM
from tests.kbert.training.optimizers.formulas import NumpyOptimizer

NAMES = ("adam_weight_decay", "adamw", "lamb")
# The last is as large as those that get a compiled loop of their own.
SHAPES = {
    "embeddings/word_embeddings": (7, 4),
    "embeddings/layer_norm/gamma": (4,),
    "layer_0/attention/query/kernel": (4, 4),
    "layer_0/attention/query/bias": (4,),
    "layer_1/attention/query/kernel": (4, 4),
    "masked_lm/output_bias": (7,),
    "masked_lm/transform/kernel": (FUSED_FROM // 64, 64),
}
EXCLUDED = ("embeddings/layer_norm/gamma", "layer_0/attention/query/bias", "masked_lm/output_bias")


def starting_values(seed=4):
    rng = np.random.default_rng(seed)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in SHAPES.items()}


def gradients_of(step):
    return starting_values([step, 1])


def learning_rate_of(step):
    return np.float32(0.05 / (step + 1))


def numpy_values(config, steps, factors=None, scale=1.0):
    """Each variable after `steps` updates by the formula, with its own factor of the rate."""
    optimizers = {}
    for name, value in starting_values().items():
        adapted = name not in EXCLUDED
        optimizers[name] = NumpyOptimizer(
            config.name,
            value,
            config.weight_decay if adapted else 0.0,
            adapted,
            config.corrects_bias,
            config.beta_1,
            config.beta_2,
            config.epsilon,
        )
    for step in range(steps):
        for name, gradient in gradients_of(step).items():
            factor = 1.0 if factors is None else factors[name]
            optimizers[name].update(gradient.astype(np.float64) * scale, learning_rate_of(step) * factor)
    return optimizers


WAYS = {
    "eager": lambda apply: apply,
    "graph": tf.function,
    "xla": tf.function(jit_compile=True),
}


def trained(config, steps, way="graph", scale=1.0):
    """(variables, optimizer) after `steps` updates."""
    variables = {name: keras.Variable(value, name="x") for name, value in starting_values().items()}
    optimizer = make_optimizer(config, variables)
    apply = WAYS[way](optimizer.apply)
    for step in range(steps):
        gradients = [tf.constant(gradient) for gradient in gradients_of(step).values()]
        step = tf.constant(step, tf.int64)
        apply(gradients, tf.constant(learning_rate_of(int(step))), step, gradient_scale=tf.constant(scale))
    return variables, optimizer


def assert_equal_to_numpy(variables, optimizer, expected):
    slots = optimizer.slots()
    assert set(slots) == {f"{name}/{slot}" for name in SHAPES for slot in ("adam_m", "adam_v")}
    for name, formula in expected.items():
        np.testing.assert_allclose(variables[name], formula.value, atol=3e-6, rtol=1e-5, err_msg=name)
        np.testing.assert_allclose(slots[f"{name}/adam_m"], formula.m, atol=1e-6, err_msg=name)
        np.testing.assert_allclose(slots[f"{name}/adam_v"], formula.v, atol=1e-6, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way"), [*((name, "graph") for name in NAMES), ("lamb", "eager"), ("lamb", "xla")]
)
def test_updates_are_the_formulas(name, way):
    config = OptimizerConfig(name=name, weight_decay=0.1, beta_2=0.98)
    variables, optimizer = trained(config, 6, way)
    assert_equal_to_numpy(variables, optimizer, numpy_values(config, 6))


def test_a_gradient_scale_is_as_scaled_gradients():
    config = OptimizerConfig(name="lamb", weight_decay=0.1, epsilon=1e-2)
    variables, optimizer = trained(config, 4, scale=0.25)
    assert_equal_to_numpy(variables, optimizer, numpy_values(config, 4, scale=0.25))
    unscaled = numpy_values(config, 4)["masked_lm/transform/kernel"].value
    assert np.abs(variables["masked_lm/transform/kernel"] - unscaled).max() > 1e-3


def test_layer_decay_is_a_learning_rate_for_each_variable():
    config = OptimizerConfig(name="lamb", weight_decay=0.1, layer_decay=0.5)
    factors = {
        "embeddings/word_embeddings": 0.125,
        "embeddings/layer_norm/gamma": 0.125,
        "layer_0/attention/query/kernel": 0.25,
        "layer_0/attention/query/bias": 0.25,
        "layer_1/attention/query/kernel": 0.5,
        "masked_lm/output_bias": 1.0,
        "masked_lm/transform/kernel": 1.0,
    }
    variables, optimizer = trained(config, 5)
    assert_equal_to_numpy(variables, optimizer, numpy_values(config, 5, factors))


def test_adamw_equals_kerass():
    config = OptimizerConfig(name="adamw", weight_decay=0.1)
    ours = trained(config, 6)[0]
    theirs = {
        name: keras.Variable(value, name=name.replace("/", "_")) for name, value in starting_values().items()
    }
    keras_optimizer = keras.optimizers.AdamW(0.05, weight_decay=0.1, epsilon=1e-6)
    keras_optimizer.exclude_from_weight_decay(var_names=["layer_norm", "bias"])
    for step in range(6):
        keras_optimizer.learning_rate = learning_rate_of(step)
        keras_optimizer.apply(list(gradients_of(step).values()), list(theirs.values()))
    for name in SHAPES:
        np.testing.assert_allclose(ours[name], theirs[name], atol=3e-6, err_msg=name)


@pytest.mark.parametrize("size", [3, FUSED_FROM])
def test_lamb_of_a_zero_variable_or_a_zero_gradient_has_no_trust_ratio(size):
    config = OptimizerConfig(name="lamb", weight_decay=0.0)
    values = {"zero/kernel": np.zeros(size), "still/kernel": np.ones(size)}
    variables = {name: keras.Variable(value, dtype="float32") for name, value in values.items()}
    optimizer = make_optimizer(config, variables)
    optimizer.apply([tf.ones(size), tf.zeros(size)], tf.constant(0.1), tf.constant(0))
    np.testing.assert_allclose(variables["zero/kernel"], np.full(size, -0.1), rtol=1e-4)
    np.testing.assert_array_equal(variables["still/kernel"], np.ones(size))
