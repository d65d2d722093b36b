"""Every loss against NumPy, worked out from its formula."""

import numpy as np
import pytest
from scipy.special import softmax

from kbert.distillation import losses
from kbert.features import EXAMPLE_WEIGHTS
from kbert.tasks.losses import token_weights
from kbert.tasks.task import SoftTarget

RNG = np.random.default_rng(2)
WEIGHTS = np.array([1.0, 0.0, 0.5], np.float32)
# Three sequences of 4, 2 and 3 tokens.
MASK = np.array([[1, 1, 1, 1], [1, 1, 0, 0], [1, 1, 1, 0]], np.int32)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_classes_are_compared_by_kl_times_the_squared_temperature(temperature):
    student, teacher = normal(3, 5), normal(3, 5)
    p, q = (softmax(logits / temperature, axis=-1) for logits in (teacher, student))
    want = temperature**2 * ((p * np.log(p / q)).sum(axis=-1) * WEIGHTS).sum()
    got = losses.soft_label_error(SoftTarget(student, WEIGHTS), SoftTarget(teacher, WEIGHTS), temperature)
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_labels_of_their_own_are_compared_one_by_one():
    student, teacher, temperature = normal(3, 4), normal(3, 4), 2.0
    p, q = (1 / (1 + np.exp(-x / temperature)) for x in (teacher, student))
    kl = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    want = temperature**2 * (kl * WEIGHTS[:, None]).sum()
    both = [SoftTarget(x, WEIGHTS[:, None], "sigmoid") for x in (student, teacher)]
    np.testing.assert_allclose(losses.soft_label_error(*both, temperature), want, rtol=1e-5)


def test_numbers_are_compared_by_the_square_whatever_the_temperature():
    student, teacher = normal(3), normal(3)
    both = [SoftTarget(x, WEIGHTS, "number") for x in (student, teacher)]
    want = ((student - teacher) ** 2 * WEIGHTS).sum()
    np.testing.assert_allclose(losses.soft_label_error(*both, 7.0), want, rtol=1e-5)


def test_what_is_far_outside_the_softmax_stays_out():
    """Padding has logits of -1e9 (questions): no NaN, and nothing to learn there."""
    student, teacher = normal(3, 5), normal(3, 5)
    cut = [SoftTarget(x[:, :4], WEIGHTS) for x in (student, teacher)]
    for x in (student, teacher):
        x[:, 4] = -1e9
    padded = [SoftTarget(x, WEIGHTS) for x in (student, teacher)]
    got, want = (losses.soft_label_error(*both, 0.5) for both in (padded, cut))
    np.testing.assert_allclose(got, want, rtol=1e-5)


def test_hidden_states_are_compared_at_real_tokens():
    student, teacher = normal(3, 4, 6), normal(3, 4, 6)
    weights = MASK * WEIGHTS[:, None]
    want = sum(
        weights[i, j] * np.mean((student[i, j] - teacher[i, j]) ** 2) for i in range(3) for j in range(4)
    )
    np.testing.assert_allclose(losses.hidden_error(student, teacher, weights), want, rtol=1e-5)


def test_directions_are_compared_by_their_cosine():
    student, teacher = normal(3, 4, 6), normal(3, 4, 6)
    weights = MASK * WEIGHTS[:, None]
    lengths = np.linalg.norm(student, axis=-1) * np.linalg.norm(teacher, axis=-1)
    cosines = (student * teacher).sum(axis=-1) / lengths
    got = losses.cosine_error(student, teacher, weights)
    np.testing.assert_allclose(got, ((1 - cosines) * weights).sum(), rtol=1e-5)


def test_every_sequence_of_an_example_has_its_weight():
    """Multiple choice: an example is several sequences."""
    mask = np.stack([MASK, MASK[::-1]], axis=1)  # (3, 2, 4)
    batch = {"input_ids": mask, "input_mask": mask, EXAMPLE_WEIGHTS: WEIGHTS}
    want = (mask * WEIGHTS[:, None, None]).reshape(6, 4)
    np.testing.assert_array_equal(token_weights(batch), want)
