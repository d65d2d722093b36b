"""The weighted sum of layers beside NumPy."""

import numpy as np

from kbert.heads.bilstm_head import ScalarMix

RNG = np.random.default_rng(4)


def test_the_sum_by_hand():
    layers = [RNG.normal(size=(2, 3, 4)).astype(np.float32) for _ in range(3)]
    mix, side_by_side = ScalarMix(num_layers=3), np.concatenate(layers, axis=-1)
    np.testing.assert_allclose(mix(side_by_side), np.mean(layers, axis=0), atol=1e-6)  # before training
    weights = np.array([0.5, -1.0, 2.0], np.float32)
    mix.layer_weights.assign(weights)
    mix.scale.assign(1.5)
    shares = np.exp(weights) / np.exp(weights).sum()
    expected = 1.5 * sum(share * layer for share, layer in zip(shares, layers, strict=True))
    np.testing.assert_allclose(mix(side_by_side), expected, atol=1e-6)


def test_mixed_precision_computes_in_bfloat16_and_keeps_float32_weights():
    layers = RNG.normal(size=(1, 2, 8)).astype(np.float32)
    mix = ScalarMix(num_layers=2, dtype="mixed_bfloat16")
    assert mix(layers).dtype == "bfloat16"
    assert {weight.dtype for weight in mix.trainable_weights} == {"float32"}
