"""Sums over micro-batches are those over the whole batch."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from kbert.training import train_step
from kbert.training.train_step import TrainStep, sum_over_micro_batches

BATCH = {
    "values": np.random.default_rng(0).normal(size=(12, 5)).astype(np.float32),
    "labels": np.arange(12, dtype=np.int32),
}


@tf.function
def sums_of(micro_batch, number, factors, nothing):
    """A structure of sums, with an array and a count of micro-batches, as losses and metrics are."""
    assert nothing is None
    weights = tf.cast(micro_batch["labels"], tf.float32)[:, None] * factors["weight"]
    counts = tf.reduce_sum(tf.one_hot(micro_batch["labels"] % 3, 3), axis=0)
    return [tf.reduce_sum(weights * micro_batch["values"], axis=0)], {
        "counts": (counts, tf.constant(0.0)),
        "numbers": tf.cast(number, tf.float32),
    }


@pytest.mark.parametrize("jit_compile", [False, True])
def test_sums_over_micro_batches_are_those_over_all_rows(jit_compile):
    @tf.function(jit_compile=jit_compile)
    def run(batch):
        return sum_over_micro_batches(sums_of, batch, 3, {"weight": tf.constant(0.5)}, None)

    (total,), others = run(BATCH)
    expected = 0.5 * (BATCH["labels"][:, None] * BATCH["values"]).sum(axis=0)
    np.testing.assert_allclose(total, expected, rtol=1e-5)
    np.testing.assert_array_equal(others["counts"][0], [4, 4, 4])
    assert float(others["numbers"]) == 0 + 1 + 2  # each once, with its number


def test_lengths_may_vary_from_batch_to_batch():
    @tf.function
    def total_of(micro_batch, number):
        return tf.reduce_sum(micro_batch["values"])

    @tf.function(input_signature=[{"values": tf.TensorSpec([12, None])}])
    def run(batch):
        return sum_over_micro_batches(total_of, batch, 4)

    for length in (5, 2):
        values = BATCH["values"][:, :length]
        assert float(run({"values": values})) == pytest.approx(float(values.sum()), rel=1e-4)


def test_no_two_micro_batches_of_any_steps_draw_the_same_dropout(monkeypatch):
    """Draws are counted through the micro-batches of all steps."""
    drawn = []

    def each_micro_batch(function, batch, number, weights, first_draw, *others):
        drawn.extend(range(int(first_draw), int(first_draw) + number))

    monkeypatch.setattr(train_step, "sum_over_micro_batches", each_micro_batch)
    step = SimpleNamespace(_num_micro_batches=3, _gradients_of_micro_batch=None)
    for number in range(4):
        TrainStep._accumulated_gradients(step, {}, {}, tf.constant(number, tf.int64), 0, None)
    assert drawn == list(range(12))
