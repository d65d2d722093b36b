"""What must stay in float32 in the mixed policies, and masks and norms that hold out in 16 bits."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.encoder import BertEncoder
from kbert.features import ENCODER_INPUTS
from kbert.layers.transformer_block import TransformerBlock
from kbert.tasks.pretraining.objectives import Pretraining
from kbert.tasks.token_classification.token_classification import TokenClassification
from tests.conftest import tiny_encoder_config
from tests.kbert import reference_bert
from tests.layer_checks import layer_config

POLICIES = ("float32", "mixed_bfloat16", "mixed_float16")
MIXED = {"mixed_bfloat16": tf.bfloat16, "mixed_float16": tf.float16}
RNG = np.random.default_rng(14)


@pytest.mark.parametrize("policy", POLICIES)
def test_padding_gets_exactly_no_attention_in_every_policy(policy):
    block = TransformerBlock(layer_config(initializer_range=0.5), 0, dtype=policy)
    hidden = RNG.normal(size=(2, 6, 8)).astype(np.float32)
    mask = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1]], np.int32)
    outputs, probabilities = block(hidden, mask, with_probabilities=True)
    assert probabilities.dtype == tf.float32 and outputs.dtype == MIXED.get(policy, tf.float32)
    assert np.all(probabilities[0, :, :, 3:] == 0.0)
    np.testing.assert_allclose(tf.reduce_sum(probabilities, axis=-1), 1.0, atol=1e-6)


@pytest.mark.parametrize("policy", MIXED)
def test_softmax_is_in_float32(policy):
    """300 equal scores: 1/300 each is not a number of 16 bits, and their sum in 16 bits is not 1."""
    block = TransformerBlock(layer_config(initializer_range=0.5), 0, dtype=policy)
    hidden = np.ones((1, 300, 8), np.float32)
    _, probabilities = block(hidden, np.ones((1, 300), np.int32), with_probabilities=True)
    np.testing.assert_allclose(probabilities, 1 / 300, rtol=1e-6)
    assert float(tf.cast(1 / 300, MIXED[policy])) != np.float32(1 / 300)


@pytest.mark.parametrize("policy", MIXED)
def test_layer_norm_is_in_float32(policy):
    """Squares of 300 overflow float16 and lose all digits of the deviation in bfloat16."""
    block = BertEncoder(tiny_encoder_config(), policy).blocks[0]
    norm = block.attention_layer_norm
    assert norm.compute_dtype == MIXED[policy].name
    inputs = tf.cast(300.0 + 4.0 * RNG.normal(size=(5, 16)), norm.compute_dtype)
    weights = {"norm/gamma": np.ones(16), "norm/beta": np.zeros(16)}
    expected = reference_bert.layer_norm(weights, "norm", inputs.numpy().astype(np.float64))
    outputs = tf.cast(norm(inputs), tf.float32).numpy()
    rounded = tf.cast(tf.cast(expected, norm.compute_dtype), tf.float32).numpy()
    # In float32 the outputs are within a rounding of 16 bits; in 16 bits they are nan or off by tenths.
    np.testing.assert_allclose(outputs, rounded, rtol=2.0**-7 if policy == "mixed_bfloat16" else 2.0**-10)


@pytest.mark.parametrize("policy", POLICIES)
def test_losses_are_float32_and_finite_where_all_is_padding(policy):
    config = tiny_encoder_config(num_hidden_layers=1)
    inputs = {name: tf.zeros((2, 9), tf.int32) for name in ENCODER_INPUTS}
    batches = [
        (Pretraining(), {
            "masked_lm_positions": tf.zeros((2, 3), tf.int32),
            "masked_lm_ids": tf.zeros((2, 3), tf.int32),
            "masked_lm_weights": tf.zeros((2, 3)),
            "next_sentence_labels": tf.zeros((2, 1), tf.int32),
        }),
        (TokenClassification(("a", "b")), {"label_ids": tf.fill((2, 9), -100)}),
    ]  # fmt: skip
    for task, labels in batches:
        model = task.build_model(BertEncoder(config, policy))
        batch = inputs | labels
        with tf.GradientTape() as tape:
            outputs = model(batch, training=True)
            losses = task.loss_sums(outputs, batch)
            weights = task.loss_weights(batch)
            loss = tf.add_n([losses[name] / weights[name] for name in losses])
        assert all(value.dtype == tf.float32 for value in (*losses.values(), *weights.values()))
        gradients = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
        for value in (loss, *gradients):
            assert np.isfinite(tf.convert_to_tensor(value).numpy()).all()


@pytest.mark.parametrize("policy", POLICIES)
def test_products_of_float32_are_not_rounded_to_tf32(policy):
    """For GPUs. In 16 bits TensorFlow's own setting stays."""
    tf.config.experimental.enable_tensor_float_32_execution(True)
    BertEncoder(tiny_encoder_config(), dtype=policy)
    assert tf.config.experimental.tensor_float_32_execution_enabled() == (policy in MIXED)
