"""One vector out of many, against sums done in NumPy."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from kbert.config.pooling_config import POOLINGS
from kbert.layers.sequence_pooling import SequencePooling
from tests.layer_checks import check_layer

RNG = np.random.default_rng(12)
HIDDEN = (
    RNG.normal(size=(3, 5, 8)).astype(np.float32) - 2.0
)  # mostly below 0: zeros of padding would be the max
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], np.int32)
EXPECTED = {
    "cls": lambda rows: rows[0],
    "mean": lambda rows: rows.mean(axis=0),
    "max": lambda rows: rows.max(axis=0),
    "mean_sqrt_len": lambda rows: rows.sum(axis=0) / np.sqrt(len(rows)),
    "weightedmean": lambda rows: np.average(rows, axis=0, weights=np.arange(len(rows)) + 1),
    "lasttoken": lambda rows: rows[-1],
}


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("mode", POOLINGS)
def test_pooling_goes_over_the_real_tokens(mode, normalize):
    def make(**kwargs):
        return SequencePooling(mode, normalize, name="pooling", **kwargs)

    check_layer(make, {"sequence_output": HIDDEN, "input_mask": MASK}, (3, 8), output_dtype="float32")
    pooled = make()(HIDDEN, MASK)
    for row, mask, found in zip(HIDDEN, MASK, pooled, strict=True):
        expected = EXPECTED[mode](row[mask.astype(bool)])
        expected = expected / np.linalg.norm(expected) if normalize else expected
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_several_modes_stand_behind_each_other_and_are_scaled_and_cut_as_one():
    layer = SequencePooling("cls+mean", normalize=True, truncate_dim=11)
    check_layer(lambda **kwargs: SequencePooling("cls+mean", True, 11, name="pooling", **kwargs),
                {"sequence_output": HIDDEN, "input_mask": MASK}, (3, 11), output_dtype="float32")  # fmt: skip
    for row, mask, found in zip(HIDDEN, MASK, layer(HIDDEN, MASK), strict=True):
        rows = row[mask.astype(bool)]
        whole = np.concatenate([EXPECTED["cls"](rows), EXPECTED["mean"](rows)])
        np.testing.assert_allclose(found, (whole / np.linalg.norm(whole))[:11], atol=1e-6)


@pytest.mark.parametrize("mode", POOLINGS)
def test_tokens_of_a_prompt_do_not_count(mode):
    """What is left of a row is pooled; the weights of places stay. Without anything left there are zeros."""
    found = np.asarray(SequencePooling(mode, skipped_tokens=2)(HIDDEN, MASK))
    for row, mask, vector in zip(HIDDEN[:2], MASK, found, strict=False):
        rows = row[mask.astype(bool)][2:]
        weights = np.arange(len(rows)) + 3
        own = np.average(rows, axis=0, weights=weights) if mode == "weightedmean" else EXPECTED[mode](rows)
        np.testing.assert_allclose(vector, own, atol=1e-6)
    np.testing.assert_array_equal(found[2], HIDDEN[2, 0] if mode == "cls" else np.zeros(8))


@pytest.mark.parametrize("dtype", ["float32", "mixed_float16", "mixed_bfloat16"])
@pytest.mark.parametrize("mode", ["mean", "max", "mean_sqrt_len", "weightedmean", "lasttoken"])
def test_a_row_of_padding_alone_gives_zeros(mode, dtype):
    pooled = SequencePooling(mode, normalize=True, dtype=dtype)(HIDDEN, np.zeros_like(MASK))
    np.testing.assert_array_equal(pooled, np.zeros((3, 8)))
    assert pooled.dtype == "float32"


def test_the_global_policy_changes_no_vector():
    expected = SequencePooling("mean")(HIDDEN, MASK)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        np.testing.assert_array_equal(SequencePooling("mean")(HIDDEN, MASK), expected)
    finally:
        keras.config.set_dtype_policy("float32")


@pytest.mark.parametrize("way", [lambda function: function, tf.function(jit_compile=True)])
def test_a_row_of_padding_alone_has_a_gradient_of_zeros(way):
    @way
    def gradient(hidden):
        with tf.GradientTape() as tape:
            tape.watch(hidden)
            total = tf.reduce_sum(SequencePooling("mean", normalize=True)(hidden, MASK * [[1], [1], [0]]))
        return tape.gradient(total, hidden)

    found = gradient(tf.constant(HIDDEN)).numpy()
    assert found[:2].any() and not found[2].any()
