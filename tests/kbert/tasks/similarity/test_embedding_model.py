"""The model of sentence similarity: pooled as `embed` pools, the same packed and padded."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.encoder import BertEncoder
from kbert.features import PACKED_PLACES
from kbert.input_pipelines.packing import pack
from kbert.layers.sequence_pooling import SequencePooling
from kbert.tasks.similarity.cosine_similarity import CosineSimilarity
from tests.conftest import tiny_encoder_config
from tests.kbert.test_encoder import random_inputs


@pytest.fixture(scope="module")
def encoder():
    return BertEncoder(tiny_encoder_config(num_hidden_layers=1))


@pytest.fixture(scope="module")
def batch(encoder):
    """Five examples of two texts."""
    inputs = random_inputs(encoder.config, 10, 8)
    return {name: value.reshape(5, 2, 8) for name, value in inputs.items()}


@pytest.mark.parametrize(("pooling", "normalize"), [("mean", True), ("cls", False)])
def test_each_text_is_encoded_and_pooled_on_its_own(encoder, batch, pooling, normalize):
    embeddings = CosineSimilarity(pooling=pooling, normalize=normalize).build_model(encoder)(batch)[
        "embeddings"
    ]
    for place in range(2):
        inputs = {name: value[:, place] for name, value in batch.items()}
        hidden = encoder(inputs)["sequence_output"]
        expected = SequencePooling(pooling, normalize)(hidden, inputs["input_mask"])
        np.testing.assert_allclose(embeddings[:, place], expected, atol=1e-6)


@pytest.mark.parametrize("num_rows", [None, 10])
def test_packed_texts_have_the_same_embeddings(encoder, batch, num_rows):
    """With as many rows as they need, and with fixed rows for XLA."""
    packed = BertEncoder(encoder.config, packed=True)
    packed.set_weights(encoder.get_weights())
    ((_, with_places),) = enumerate(pack(tf.data.Dataset.from_tensors(batch), num_rows))
    rows, length = with_places[PACKED_PLACES].shape
    assert rows < 10 or (rows, length) == (10, 8)
    found = CosineSimilarity().build_model(packed)(with_places)["embeddings"]
    np.testing.assert_allclose(found, CosineSimilarity().build_model(encoder)(batch)["embeddings"], atol=1e-5)
