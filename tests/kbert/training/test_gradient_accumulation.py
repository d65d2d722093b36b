"""Sums over the parts of a batch are those over the whole."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from kbert.training import train_step
from kbert.training.gradient_accumulation import summed_over_parts
from kbert.training.train_step import TrainStep

BATCH = {
    "values": np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32),
    "labels": np.arange(12, dtype=np.int32),
}


@tf.function
def sums_of(part, number, factors, nothing):
    """A structure of sums, with an array and a count of parts, as losses and metrics are."""
    assert nothing is None
    weights = tf.cast(part["labels"], tf.float32)[:, None] * factors["weight"]
    counts = tf.reduce_sum(tf.one_hot(part["labels"] % 3, 3), axis=0)
    return [tf.reduce_sum(weights * part["values"], axis=0)], {
        "counts": (counts, tf.constant(0.0)),
        "numbers": tf.cast(number, tf.float32),
    }


def sums_over(num_parts, batch, **options):
    @tf.function(**options)
    def run(batch):
        return summed_over_parts(sums_of, batch, num_parts, {"weight": tf.constant(0.5)}, None)

    return run(batch)


@pytest.mark.parametrize("num_parts", [1, 3])
@pytest.mark.parametrize("jit_compile", [False, True])
def test_sums_over_parts_are_those_over_all_rows(num_parts, jit_compile):
    (total,), others = sums_over(num_parts, BATCH, jit_compile=jit_compile)
    expected = 0.5 * (BATCH["labels"][:, None] * BATCH["values"]).sum(axis=0)
    np.testing.assert_allclose(total, expected, rtol=1e-5)
    np.testing.assert_array_equal(others["counts"][0], [4, 4, 4])
    assert float(others["numbers"]) == sum(range(num_parts))  # every part once, each with its number


def test_lengths_may_vary_from_batch_to_batch():
    specs = {"values": tf.TensorSpec([12, None]), "labels": tf.TensorSpec([12], tf.int32)}

    @tf.function(input_signature=[specs])
    def run(batch):
        totals, _ = summed_over_parts(total_of, batch, 4)
        return totals

    @tf.function
    def total_of(part, number):
        return tf.reduce_sum(part["values"]), tf.cast(number, tf.float32)

    for length in (5, 2):
        batch = BATCH | {"values": BATCH["values"][:, :length]}
        assert float(run(batch)) == pytest.approx(float(batch["values"].sum()), rel=1e-4)


def test_no_two_parts_of_any_steps_draw_the_same_dropout(monkeypatch):
    """Draws are counted through the parts of all steps."""
    drawn = []

    def each_part(function, batch, num_parts, weights, first_draw, *others):
        drawn.extend(int(first_draw) + part for part in range(num_parts))

    monkeypatch.setattr(train_step, "summed_over_parts", each_part)
    step = SimpleNamespace(_num_parts=3, _gradients_of_part=None)
    for number in range(4):
        TrainStep._gradients_of_all_parts(step, {}, {}, tf.constant(number, tf.int64), 0, None)
    assert drawn == list(range(12))
