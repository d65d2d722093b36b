"""Attention probabilities, beside those of BERT in NumPy."""

import numpy as np
import pytest

from kbert.config.pooling_config import PoolingConfig
from kbert.inference.attention import compute_attention
from kbert.tasks import TASKS
from tests.kbert import reference_bert
from tests.kbert.inference.random_model import random_model, random_task_model

pytestmark = pytest.mark.usefixtures("eager")


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cosine_similarity", "sparse_embedding"])
def test_a_model_of_vectors_is_shown_as_it_reads_a_text(name):
    """One text by itself, behind the default prompt."""
    task = TASKS[name]()
    prompts = {"prompts": {"query": "ask the "}, "default_prompt_name": "query"}
    task = task.with_pooling(None if name == "sparse_embedding" else PoolingConfig("mean", True, **prompts))
    loaded = random_task_model(task, own_pooling=task.pooling)
    attention = compute_attention(loaded, "looks")
    assert ("ask" in attention.tokens) == (name != "sparse_embedding")
    with pytest.raises(ValueError, match="a vector of each text by itself, and one has the second text"):
        compute_attention(loaded, "looks", "jump")


@pytest.mark.slow
def test_a_model_of_texts_alone_is_shown_no_pair():
    loaded = random_task_model(TASKS["sequence_classification"](["a", "b"], takes_pairs=False))
    loaded.takes_pairs = False
    with pytest.raises(ValueError, match="reads texts alone, .* second text"):
        compute_attention(loaded, "looks", "jump")


def test_a_text_that_is_cut_is_named(model_and_weights, caplog):
    """The picture is of its beginning alone, though answers may read more of it."""
    loaded = model_and_weights[0].with_max_seq_length(5)
    compute_attention(loaded, "jump the a")
    assert not caplog.text
    attention = compute_attention(loaded, "jump the a looks")
    assert len(attention.tokens) == 5
    assert "'jump the a looks' is longer than the 5 tokens that " in caplog.text
