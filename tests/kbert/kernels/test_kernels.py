"""Every kernel gives the values and the gradients of the plain formula, written in float64."""

import math

import numpy as np
import pytest
import tensorflow as tf

from kbert.kernels.arithmetic import column_sums, row_sums
from kbert.kernels.attention import attention_softmax, merge_heads, split_heads
from kbert.kernels.bias_activation import bias_activation
from kbert.kernels.dropout import dropout, dropout_mask
from kbert.kernels.kernel import Kernel
from kbert.kernels.layer_norm import norm_dropout, residual_norm
from kbert.kernels.logits import cross_entropy
from kbert.kernels.rotary import angles, rotary
from kbert.layers.packed_rows import exchange_rows

SEED = tf.constant([3, 4], tf.uint32)
RATE = 0.3


def numbers(*shape, seed=0, scale=1.0):
    return np.random.default_rng(seed).normal(size=shape) * scale


def share(*shape):
    return tf.cast(dropout_mask(shape, RATE, SEED), tf.float64)


def layer_norm(x, gamma, beta, epsilon=1e-12):
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) / tf.sqrt(variance + epsilon) * gamma + beta


ACTIVATIONS = {
    "gelu": lambda x: 0.5 * x * (1 + tf.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "gelu_erf": lambda x: 0.5 * x * (1 + tf.math.erf(x / math.sqrt(2))),
    "relu": tf.nn.relu,
    "tanh": tf.tanh,
}
MASK = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)
TEXTS = np.array([[1, 1, 2, 2, 0], [1, 2, 2, 3, 3]], np.int32)
# The places of MASK's tokens, two that fill up, and where in that list each place is.
LAYOUT = (
    np.array([0, 1, 2, 5, 6, 7, 8, 9, 10, 10], np.int32),
    np.array([[0, 1, 2, 10, 10], [3, 4, 5, 6, 7]], np.int32),
)


def plain_softmax(scores, allowed):
    return tf.nn.softmax(scores + (1 - tf.cast(allowed, tf.float64)) * -10000.0)


def split_plain(product, bias):
    x = tf.reshape(product + bias, (2, 5, 3, 2, 4))
    query, key, value = tf.unstack(tf.transpose(x, (2, 0, 3, 1, 4)))
    return query, key, value


def merge_plain(context):
    return tf.reshape(tf.transpose(context, (0, 2, 1, 3)), (2, 5, 8))


def turned_plain(x, theta):
    """Pairs of numbers as complex ones, turned by position / theta^(2 i / size)."""
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[2])[:, None] / theta ** (np.arange(half) / half)
    turned = tf.complex(x[..., :half], x[..., half:]) * np.exp(1j * angles)
    return tf.concat([tf.math.real(turned), tf.math.imag(turned)], axis=-1)


# name -> (kernel on float tensors, plain formula on float64 tensors, the tensors)
CASES = {
    **{
        f"bias_activation {name}": (
            lambda x, b, name=name: bias_activation(x, b, name),
            lambda x, b, f=function: f(x + b),
            (numbers(7, 6, scale=2), numbers(6, seed=1)),
        )
        for name, function in ACTIVATIONS.items()
    },
    "bias_activation gated": (
        lambda x, b: bias_activation(x, b, "gelu_erf", gated=True),
        lambda x, b: ACTIVATIONS["gelu_erf"]((x + b)[:, :3]) * (x + b)[:, 3:],
        (numbers(7, 6, scale=2), numbers(6, seed=1)),
    ),
    "rotary": (
        lambda x: rotary(x, angles(np.arange(5), 4, 7.0), training=True),
        lambda x: turned_plain(x, 7.0),
        (numbers(2, 3, 5, 4),),
    ),
    "norm_dropout": (
        lambda x, g, b: norm_dropout(x, g, b, SEED, RATE, 1e-12),
        lambda x, g, b: layer_norm(x, g, b) * share(7, 6),
        (numbers(7, 6), numbers(6, seed=1), numbers(6, seed=2)),
    ),
    "residual_norm": (
        lambda x, bias, r, g, b: residual_norm(x, bias, r, g, b, SEED, RATE, 1e-12),
        lambda x, bias, r, g, b: layer_norm(r + (x + bias) * share(7, 6), g, b),
        (numbers(7, 6), numbers(6, seed=1), numbers(7, 6, seed=2), numbers(6, seed=3), numbers(6, seed=4)),
    ),
    "attention_softmax": (
        lambda s: attention_softmax(s, tf.constant(MASK), SEED, 0.5, RATE, False),
        lambda s: plain_softmax(s / 2, MASK[:, None, None, :]) * share(2, 3, 5, 5),
        (numbers(2, 3, 5, 5),),
    ),
    "attention_softmax packed": (
        lambda s: attention_softmax(s, tf.constant(TEXTS), SEED, 0.5, RATE, True),
        lambda s: (
            plain_softmax(
                s / 2,
                (TEXTS[:, None, None, :] > 0)
                & ((TEXTS[:, None, None, :] == TEXTS[:, None, :, None]) | (TEXTS[:, None, :, None] == 0)),
            )
            * share(2, 3, 5, 5)
        ),
        (numbers(2, 3, 5, 5),),
    ),
    "attention_softmax with a position bias": (
        lambda s, b: attention_softmax(
            s, tf.constant(MASK), SEED, 0.5, RATE, False, position_bias=tf.cast(b, tf.float32)
        ),
        lambda s, b: plain_softmax(s / 2 + b, MASK[:, None, None, :]) * share(2, 3, 5, 5),
        (numbers(2, 3, 5, 5), numbers(3, 5, 5, seed=1)),
    ),
    "split_heads": (
        lambda x, b: split_heads(x, b, 2),
        split_plain,
        (numbers(2, 5, 24), numbers(24, seed=1)),
    ),
    "merge_heads": (
        lambda c: merge_heads(c, 2),
        merge_plain,
        (numbers(2, 2, 5, 4),),
    ),
    "exchange_rows": (
        lambda x: exchange_rows(x, tf.constant(LAYOUT[1]), tf.constant(LAYOUT[0])),
        lambda x: tf.gather(tf.concat([x[:10], tf.zeros((1, 4), tf.float64)], 0), LAYOUT[1]),
        (numbers(10, 4),),
    ),
    "cross_entropy": (
        lambda x: cross_entropy(x, tf.constant([3, 0, 8], tf.int32)),
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([3, 0, 8], x),
        (numbers(3, 9, scale=5),),
    ),
    "dropout": (
        lambda x: dropout(x, SEED, RATE),
        lambda x: x * share(7, 6),
        (numbers(7, 6),),
    ),
}


@pytest.fixture(autouse=True, params=[False], ids=["plain"])
def compiled(request, monkeypatch):
    """`parametrize` gives a test another way, or both."""
    monkeypatch.setattr(Kernel, "compiled", request.param)


BOTH = [pytest.param(True, id="compiled", marks=pytest.mark.long), pytest.param(False, id="plain")]
COMPILED = {"attention_softmax packed", "residual_norm"}  # in `make test`: each takes half a second


def values_and_gradients(function, tensors):
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        outputs = function(*tensors)
        # Weights that differ from element to element, so that no mistake cancels in the sum.
        flat = tf.concat([tf.reshape(o, [-1]) for o in tf.nest.flatten(outputs)], 0)
        total = tf.reduce_sum(flat * tf.cast(numbers(*flat.shape, seed=9), flat.dtype))
    return tf.nest.flatten(outputs), tape.gradient(total, tensors)


@pytest.mark.parametrize(
    ("compiled", "name"),
    [
        *((False, name) for name in CASES),
        *(
            (True, name) if name in COMPILED else pytest.param(True, name, marks=pytest.mark.long)
            for name in CASES
        ),
    ],
    indirect=["compiled"],
)
def test_a_kernel_is_the_plain_formula(name):
    kernel, plain, arrays = CASES[name]
    outputs, gradients = values_and_gradients(kernel, [tf.constant(a, tf.float32) for a in arrays])
    expected, expected_gradients = values_and_gradients(plain, [tf.constant(a) for a in arrays])
    for got, want in zip(outputs + gradients, expected + expected_gradients, strict=True):
        assert got.dtype == tf.float32
        np.testing.assert_allclose(got, want, atol=5e-6, rtol=2e-5)


@pytest.mark.parametrize("compiled", BOTH, indirect=True)
def test_the_cross_entropy_of_a_label_that_is_no_class_is_nan_and_so_is_its_gradient():
    (logits,) = CASES["cross_entropy"][2]
    labels = tf.constant([-1, 0, 9], tf.int32)
    (losses,), (gradient,) = values_and_gradients(
        lambda x: cross_entropy(x, labels), [tf.constant(logits, tf.float32)]
    )
    assert np.isnan(losses).tolist() == np.isnan(gradient).all(axis=-1).tolist() == [True, False, True]


@pytest.mark.long
@pytest.mark.parametrize("compiled", BOTH, indirect=True)
@pytest.mark.parametrize("name", sorted(CASES.keys() - {"cross_entropy"}))  # logits are float32 in any policy
def test_a_kernel_keeps_sixteen_bits(name):
    """Large tensors in and out are bfloat16, parameters float32; the numbers are near the plain ones."""
    kernel, plain, arrays = CASES[name]
    tensors = [tf.constant(a, tf.float32 if a.ndim == 1 else tf.bfloat16) for a in arrays]
    exact = [tf.cast(t, tf.float64) for t in tensors]
    outputs, gradients = values_and_gradients(kernel, tensors)
    expected, expected_gradients = values_and_gradients(plain, exact)
    assert all(output.dtype == tf.bfloat16 for output in outputs)
    assert [g.dtype for g in gradients] == [t.dtype for t in tensors]
    for got, want in zip(outputs + gradients, expected + expected_gradients, strict=True):
        got, want = np.asarray(tf.cast(got, tf.float64)), np.asarray(want)
        assert np.abs(got - want).max() < 0.04 * max(np.abs(want).max(), 1.0)


@pytest.mark.parametrize("accelerators, products", [([], 1), (["/GPU:0"], 0)])
def test_rows_and_columns_are_summed_by_products_on_a_cpu_alone(accelerators, products, monkeypatch):
    """A GPU rounds the factors of a product to TF32."""
    monkeypatch.setattr(tf.config, "list_logical_devices", lambda kind: accelerators)
    rows, columns = numbers(2, 3, 9), numbers(7, 9)
    expected = {row_sums: (rows, rows.sum(-1, keepdims=True)), column_sums: (columns, columns.sum(0))}
    for sums, (x, want) in expected.items():
        x = tf.constant(x, tf.float32)
        operations = tf.function(sums).get_concrete_function(x).graph.get_operations()
        assert sum("MatMul" in operation.type for operation in operations) == products
        np.testing.assert_allclose(sums(x), want, atol=1e-5)


@pytest.mark.parametrize("compiled", BOTH, indirect=True)
def test_logits_far_apart_stay_finite():
    logits = tf.constant([[1e4, -1e4, 0.0], [-3e4, 3e4, 3e4]])
    losses = cross_entropy(logits, tf.constant([0, 1]))
    np.testing.assert_allclose(losses, [0.0, math.log(2)], atol=1e-6)
