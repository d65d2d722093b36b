"""The layers that make up the encoder."""

import functools

import keras
import numpy as np
import pytest

from kbert.config import ACTIVATIONS
from kbert.encoder import BlockWithProbabilities
from kbert.heads.multiple_choice_head import ChoicesAsBatch
from kbert.layers.bert_embeddings import BertEmbeddings
from kbert.layers.flat_dense import activation
from kbert.layers.packed_rows import PackedRows, PaddedOutput
from kbert.layers.position_bias import PositionBias, position_buckets
from kbert.layers.sequence_pooling import Pooler
from kbert.layers.transformer_block import TransformerBlock
from tests.kbert import reference_bert
from tests.layer_checks import check_layer, layer_config

RNG = np.random.default_rng(5)
HIDDEN = RNG.normal(size=(3, 5, 8)).astype(np.float32)
MASK = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [1, 0, 0, 0, 0]], np.int32)
IDS = RNG.integers(0, 11, size=(3, 5)).astype(np.int32)
SEGMENTS = np.array([[0, 0, 1, 1, 1], [0, 1, 1, 0, 0], [0, 0, 0, 0, 0]], np.int32)


EMBEDDED = {"input_ids": IDS, "segment_ids": SEGMENTS}
DROPOUTS = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}


@pytest.mark.parametrize(
    ("layer", "settings", "inputs", "shape"),
    [
        (BertEmbeddings, {}, EMBEDDED, (3, 5, 8)),
        (BertEmbeddings, {"embedding_size": 6}, EMBEDDED, (3, 5, 8)),
        (
            functools.partial(TransformerBlock, index=0),
            DROPOUTS,
            {"hidden_states": HIDDEN, "input_mask": MASK},
            (3, 5, 8),
        ),
        (Pooler, {"pooler_hidden_act": "gelu_erf"}, {"sequence_output": HIDDEN}, (3, 8)),
    ],
    ids=["embeddings", "narrow embeddings", "block", "pooler"],
)
def test_a_layer_of_the_encoder(layer, settings, inputs, shape):
    check_layer(functools.partial(layer, layer_config(**settings), name="layer"), inputs, shape)


def test_position_bias():
    layer = PositionBias(layer_config(relative_attention_num_buckets=8))
    found = layer(HIDDEN).numpy()
    weights = {"embeddings/position_bias/relative_attention_bias": layer.relative_attention_bias.numpy()}
    np.testing.assert_array_equal(found, reference_bert.position_bias(weights, 5))
    assert PositionBias.from_config(layer.get_config()).get_config() == layer.get_config()


@pytest.mark.parametrize("num_buckets", [4, 31, 32, 64])
def test_position_buckets_of_any_distance(num_buckets):
    buckets, distances = position_buckets(num_buckets, 600), range(-599, 600)
    expected = [reference_bert.bucket(distance, num_buckets) for distance in distances]
    assert [buckets[distance] for distance in distances] == expected
    assert set(buckets) <= set(range(num_buckets))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_every_activation_is_the_formula_of_its_name(name):
    x = np.linspace(-4.0, 4.0, 41, dtype=np.float32)
    np.testing.assert_allclose(activation(name)(x), reference_bert.ACTIVATIONS[name](x), atol=1e-6)


def block(hidden_dropout, attention_dropout):
    config = layer_config(
        hidden_dropout_prob=hidden_dropout,
        attention_probs_dropout_prob=attention_dropout,
        initializer_range=0.5,
    )
    return TransformerBlock(config, 0)


@pytest.mark.parametrize("rates", [(0.5, 0.0), (0.0, 0.5)])
def test_each_dropout_acts_in_training_only(rates):
    layer = block(*rates)
    calm = layer(HIDDEN, MASK)
    np.testing.assert_array_equal(calm, layer(HIDDEN, MASK, training=False))
    assert np.abs(calm - layer(HIDDEN, MASK, training=True)).max() > 1e-3


def test_attention_probabilities_are_those_before_dropout():
    layer = block(0.0, 0.5)
    outputs, calm = layer(HIDDEN, MASK, with_probabilities=True)
    np.testing.assert_array_equal(outputs, layer(HIDDEN, MASK))
    trained, dropped = layer(HIDDEN, MASK, with_probabilities=True, training=True)
    np.testing.assert_allclose(calm, dropped, atol=1e-6)
    assert np.abs(outputs - trained).max() > 1e-3
    assert calm.shape == (3, 2, 5, 5) and calm.dtype == "float32"
    np.testing.assert_allclose(np.sum(calm, axis=-1), 1.0, atol=1e-6)


def test_saved_models_name_these_layers_by_names_that_stay():
    """A .keras file finds its classes by registered name, wherever the code lies by now."""
    layers = (ChoicesAsBatch, PackedRows, PaddedOutput, BlockWithProbabilities)
    names = [keras.saving.get_registered_name(layer) for layer in layers]
    assert names == [f"kbert>{layer.__name__}" for layer in layers]
