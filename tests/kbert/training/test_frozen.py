"""What is frozen keeps its numbers, and all else learns as if nothing were frozen."""

import numpy as np
import pytest

from kbert.config import FrozenConfig
from tests.kbert.training.small_training import SmallTraining, random_batches

FROZEN = FrozenConfig(embeddings=True, layers=1)


def after_a_step(**settings):
    """(weights before, weights after one step without clipping, the training)."""
    batches = random_batches(1, batch_size=8)
    training = SmallTraining(batches, clipnorm=float("inf"), num_hidden_layers=2, **settings)
    before = {name: value.numpy() for name, value in training.weights.items()}
    training.run()
    return before, {name: value.numpy() for name, value in training.weights.items()}, training


def test_as_many_layers_are_frozen_as_asked_for():
    names = ["embeddings/word_embeddings", *(f"layer_{n}/attention/query/kernel" for n in (0, 1, 2, 10))]
    frozen = FrozenConfig(embeddings=True, layers=2)
    assert [frozen.holds(name) for name in [*names, "pooler/dense/kernel"]] == [True] * 3 + [False] * 3


@pytest.mark.slow
@pytest.mark.long
def test_frozen_weights_stay_and_the_others_learn_as_without():
    _, unfrozen, _ = after_a_step()
    before, after, training = after_a_step(frozen=FROZEN, recompute=True)
    frozen = [name for name in before if FROZEN.holds(name)]
    assert {name.split("/")[0] for name in frozen} == {"embeddings", "layer_0"}
    for name, value in after.items():
        if name in frozen:
            np.testing.assert_array_equal(value, before[name], err_msg=name)  # not even decayed
        else:
            np.testing.assert_allclose(value, unfrozen[name], atol=1e-6, err_msg=name)
            assert np.any(value != before[name]), name
    slots = {name.rpartition("/")[0] for name in training.optimizer.slots()}
    assert slots == set(before) - set(frozen)
