"""Token ids that a model takes pass unchanged; others are refused, whatever the device does with them."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.tasks.signatures.token_id_checks import TokenIdLimits, checked_token_ids
from tests.conftest import tiny_encoder_config
from tests.tfrecords_tools import small_corpus

LIMITS = TokenIdLimits(tokens=10, positions=6, segments=2)
RNG = np.random.default_rng(5)


def random_inputs(*shape):
    return {
        "input_ids": RNG.integers(0, 10, shape, np.int32),
        "input_mask": np.ones(shape, np.int32),
        "segment_ids": RNG.integers(0, 2, shape, np.int32),
    }


@pytest.mark.parametrize("shape", [(3, 6), (0, 6), (2, 1), (2, 3, 4)])
def test_what_a_model_takes_is_unchanged(shape):
    inputs = random_inputs(*shape)
    inputs["input_mask"][..., 1:] = RNG.integers(0, 2, inputs["input_mask"][..., 1:].shape)
    checked = tf.function(checked_token_ids)(inputs, LIMITS)
    for name, value in inputs.items():
        np.testing.assert_array_equal(checked[name], value)


@pytest.mark.parametrize("name", ["input_ids", "input_mask", "segment_ids"])
@pytest.mark.parametrize("beyond", [-1, 10])
def test_a_number_beyond_is_refused_at_padding_too(name, beyond):
    inputs = random_inputs(2, 5)
    inputs["input_mask"][1, 3:] = 0
    inputs[name][1, 4] = beyond
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name} must be numbers from 0 to"):
        tf.function(checked_token_ids)(inputs, LIMITS)


def test_the_vocabulary_limits_ids_and_not_the_rows_of_the_table():
    """A table may have more rows, to a round number; nobody has trained them."""
    vocabulary = small_corpus.vocabulary()
    config = tiny_encoder_config(vocab_size=len(vocabulary) + 42)
    assert TokenIdLimits.of(config, vocabulary) == (len(vocabulary), config.max_position_embeddings, 2)
