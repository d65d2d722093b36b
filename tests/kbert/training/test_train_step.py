"""The training step: grouping of steps changes nothing, dropout goes by seed and step alone."""

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.training.loss_scale import DynamicLossScale
from kbert.training.train_step import TrainStep
from tests.kbert.training.small_training import SmallTraining, random_batches


@pytest.fixture(scope="module")
def training():
    """One traced step for several tests; each begins with `restart`."""
    return SmallTraining(random_batches(5, batch_size=8))


def assert_same(first, second):
    for name, value in first.items():
        np.testing.assert_array_equal(value, second[name], err_msg=name)


@pytest.mark.slow
def test_steps_in_one_call_are_the_same_steps_one_by_one(training):
    training.restart()
    together = training.run(7)
    after_together = training.snapshot()
    training.restart()
    singly = [training.run(1) for _ in range(7)]
    assert_same(after_together, training.snapshot())
    for name in ("next_sentence_loss", "next_sentence_accuracy", "gradient_norm"):
        assert together[name] == pytest.approx(np.mean([values[name] for values in singly]), abs=1e-6)


class RecordingOptimizer:
    """Notes the factor that gradients are multiplied by."""

    def __init__(self, clipnorm):
        self.config = OptimizerConfig(global_clipnorm=clipnorm)

    def apply(self, gradients, learning_rate, step, gradient_scale):
        self.factor = float(gradient_scale)


@pytest.mark.parametrize(
    ("clipnorm", "scale", "num_parts", "factor"),
    [
        (float("inf"), None, 1, 1.0),
        (20.0, None, 4, 1.0),
        (2.0, None, 4, 0.2),
        (2.0, 4.0, 1, 0.05),
        (float("inf"), 4.0, 1, 0.25),
        (float("inf"), 4.0, 5, 0.05),
    ],
)
def test_gradients_are_multiplied_by_the_factor_of_their_norm(clipnorm, scale, num_parts, factor):
    """Of gradients with norm 10, times the scale of the loss of a micro-batch."""
    scaled = scale * num_parts if scale else 1.0
    gradients = [tf.constant([6.0]) * scaled, tf.constant([[8.0]]) * scaled]
    optimizer = RecordingOptimizer(clipnorm)
    step = SimpleNamespace(
        _optimizer=optimizer,
        _schedule=lambda step: tf.constant(1e-3),
        _first_update=0,
        _num_parts=num_parts,
        _loss_scale=scale and DynamicLossScale(),
    )
    said = TrainStep._update(step, gradients, tf.constant(5, tf.int64), scale and tf.constant(scale))
    assert optimizer.factor == pytest.approx(factor)
    assert float(said["gradient_norm"][0]) == pytest.approx(10.0)


@pytest.mark.slow
def test_dropout_is_a_function_of_seed_and_step_alone(training):
    training.restart()
    expected = training.losses(4)
    training.run(2)  # leaves the generators in another state
    training.restart()
    assert training.losses(4) == expected


def test_dropout_differs_between_steps(training):
    def norm_at(step):
        training.restart()  # the same batch and weights
        training.global_step.assign(step)
        return float(training.run()["gradient_norm"])

    assert len({norm_at(0), norm_at(1), norm_at(2)}) == 3


def test_dropout_differs_between_seeds_replicas_and_layers(training):
    def states(seed, replica=0):
        step = training.step
        step._seed, kept = seed, step._seed
        step._seed_dropout(tf.constant(3, tf.int64), tf.constant(replica))
        step._seed = kept
        return [tuple(state.numpy()) for state in step._random_states]

    drawn = states(7) + states(8) + states(2**32 - 1) + states(7, replica=1)
    layers = len(training.step._random_states)
    assert layers >= 3 and len(set(drawn)) == 4 * layers
