"""Attention probabilities, beside those of BERT in NumPy."""

import numpy as np
import pytest

from kbert.inference.attention import compute_attention
from tests.kbert import reference_bert
from tests.kbert.inference.random_model import random_model


@pytest.fixture(scope="module")
def model_and_weights():
    return random_model()


@pytest.mark.parametrize("text_pair", [None, "ask the looks"])
def test_probabilities_are_those_of_the_reference(model_and_weights, text_pair):
    loaded, weights = model_and_weights
    attention = compute_attention(loaded, "jump the a", text_pair)
    inputs = loaded.inputs(["jump the a"], None if text_pair is None else [text_pair])
    inputs = {name: value.numpy() for name, value in inputs.items()}
    _, expected = reference_bert.encode_all(weights, inputs, loaded.config)
    np.testing.assert_allclose(attention.probabilities, np.stack(expected)[:, 0], atol=2e-6)
    np.testing.assert_allclose(attention.probabilities.sum(axis=-1), 1.0, atol=1e-6)
    assert np.ptp(attention.probabilities, axis=-1).max() > 0.05  # not all the same
    assert attention.tokens[:5] == ["[CLS]", "jump", "the", "a", "[SEP]"]
    assert attention.probabilities.shape == (3, 2, len(attention.tokens), len(attention.tokens))
