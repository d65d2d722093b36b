"""A dense layer with an adapter, beside NumPy, and in the encoder beside the merged weights."""

import numpy as np
import pytest
from keras import ops

from kbert.config import LoraConfig
from kbert.config.lora_config import LORA_TARGETS, is_adapter
from kbert.encoder import BertEncoder
from kbert.layers.flat_dense import FlatDense
from kbert.layers.low_rank_dense import LowRankDense
from kbert.runs.run_directory import trained_weights
from tests.conftest import tiny_encoder_config

RNG = np.random.default_rng(0)
INPUTS = RNG.normal(size=(3, 4, 6)).astype(np.float32)


def dense(dropout=0.0, target="query"):
    layer = LowRankDense(5, target=target, lora=LoraConfig(2, alpha=3.0, dropout=dropout, targets=(target,)))
    layer.build(INPUTS.shape)
    return layer


def test_it_is_a_dense_layer_until_its_second_matrix_learns():
    layer, plain = dense(), FlatDense(5)
    plain.build(INPUTS.shape)
    plain.kernel.assign(layer.kernel)
    np.testing.assert_array_equal(layer(INPUTS), plain(INPUTS))
    layer.lora_b.assign(RNG.normal(size=(2, 5)))
    layer.bias.assign(RNG.normal(size=5))
    kernel, first, second, bias = (v.numpy() for v in (layer.kernel, layer.lora_a, layer.lora_b, layer.bias))
    expected = INPUTS @ kernel + 1.5 * INPUTS @ first @ second + bias
    np.testing.assert_allclose(layer(INPUTS), expected, atol=1e-5)
    np.testing.assert_allclose(layer(INPUTS, training=True), expected, atol=1e-5)


@pytest.mark.slow
def test_dropout_is_of_the_adapter_s_input_alone_and_by_its_seed():
    layer, seed = dense(dropout=0.5), ops.convert_to_tensor([5, 9], "uint32")
    layer.lora_b.assign(RNG.normal(size=(2, 5)))
    np.testing.assert_array_equal(layer(INPUTS), layer.product(INPUTS))  # no seed, no dropout
    dropped = layer.product(INPUTS, seed) - INPUTS @ layer.kernel.numpy()
    kept = LowRankDense.adaptation(layer, INPUTS)
    assert np.abs(dropped - kept).max() > 0.1
    np.testing.assert_array_equal(layer.product(INPUTS, seed), layer.product(INPUTS, seed))
    many = np.reshape(layer.adaptation(np.tile(INPUTS, (100, 1, 1)), seed), (100, 3, 4, 5))
    np.testing.assert_allclose(np.mean(many, axis=0), kept, atol=2.0)
    other = dense(dropout=0.5, target="value")
    for name in ("kernel", "lora_a", "lora_b"):
        getattr(other, name).assign(getattr(layer, name))
    assert np.abs(other.product(INPUTS, seed) - layer.product(INPUTS, seed)).max() > 0.1


@pytest.mark.parametrize("targets", [("query", "value"), LORA_TARGETS])
def test_an_adapted_encoder_answers_as_the_merged_one_in_training_and_after(targets):
    lora = LoraConfig(rank=3, alpha=6.0, targets=targets)
    config = tiny_encoder_config(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    adapted, plain = BertEncoder(config, lora=lora), BertEncoder(config)
    weights = trained_weights(adapted)
    for name, variable in weights.items():
        if is_adapter(name):
            variable.assign(RNG.normal(size=variable.shape) * 0.3)
    assert {name.split("/")[-3] + "/" + name.split("/")[-2] for name in weights if is_adapter(name)} == {
        {"attention_output": "attention/output"}.get(t, t.replace("feed_forward_", "feed_forward/"))
        if "_" in t else f"attention/{t}" for t in targets
    }  # fmt: skip
    for name, variable in trained_weights(plain).items():
        value, layer = weights[name].numpy(), name.removesuffix("/kernel")
        if f"{layer}/lora_a" in weights:
            value = value + 2.0 * weights[f"{layer}/lora_a"].numpy() @ weights[f"{layer}/lora_b"].numpy()
        variable.assign(value)
    ids = RNG.integers(5, 20, (2, 7)).astype(np.int32)
    inputs = {"input_ids": ids, "input_mask": np.ones_like(ids), "segment_ids": np.zeros_like(ids)}
    expected = plain(inputs)["sequence_output"]
    for training in (False, True):
        found = adapted(inputs, training=training)["sequence_output"]
        np.testing.assert_allclose(found, expected, atol=1e-5)
    again = BertEncoder.from_config(adapted.get_config())
    assert again.lora == lora and trained_weights(again).keys() == weights.keys()
