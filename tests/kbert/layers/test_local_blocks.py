"""Blocks of columns: every column within the window is beside its block, and attention is that of a mask."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.kernels.attention import attention_softmax, mask_adder
from kbert.layers.local_blocks import LocalBlocks, any_within

RNG = np.random.default_rng(2)
SHAPES = [(1, 1), (5, 0), (7, 3), (12, 3), (13, 3), (16, 4), (17, 4), (29, 4), (40, 1)]


@pytest.mark.long
@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize(("columns", "window"), SHAPES)
def test_columns_are_split_joined_and_beside_each_other(columns, window, dynamic):
    values = RNG.normal(size=(2, 3, columns, 5)).astype(np.float32) + 10  # no 0, which stands for no column

    @tf.function(input_signature=[tf.TensorSpec([2, 3, None if dynamic else columns, 5])])
    def run(values):
        blocks = LocalBlocks(tf.shape(values)[2] if dynamic else columns, window)
        split, beside = blocks.split(values), blocks.beside(values)
        return split, beside, blocks.join(split), tf.convert_to_tensor(blocks.offset)

    split, beside, joined, offset = (part.numpy() for part in run(values))
    np.testing.assert_array_equal(joined, values)
    size = split.shape[3]
    assert split.shape[2] * size - columns < size and beside.shape[2] == split.shape[2]
    for column in range(columns):
        block, inside = divmod(column, size)
        np.testing.assert_array_equal(split[:, :, block, inside], values[:, :, column])
        for other in range(max(column - window, 0), min(column + window + 1, columns)):
            position = inside + offset + other - column
            np.testing.assert_array_equal(beside[:, :, block, position], values[:, :, other])
    assert (beside == 0).sum() == beside.size - (beside > 5).sum()


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("columns", "window"), [(12, 3), (29, 4)])
def test_attention_block_by_block_is_that_of_all_pairs(columns, window, packed):
    query, key, value = RNG.normal(size=(3, 2, 3, columns, 4)).astype(np.float32)
    mask = np.sort(RNG.integers(0, 3, size=(2, columns)).astype(np.int32) + packed, axis=1)[:, ::-1].copy()
    mask = mask if packed else (mask > 0).astype(np.int32)
    mask[:, -2:] = 0
    seed, blocks = tf.zeros((2,), tf.uint32), LocalBlocks(columns, window)
    kept = attention_softmax(
        tf.matmul(blocks.split(query), blocks.beside(key), transpose_b=True),
        blocks.beside(mask[..., None])[..., 0],
        seed,
        0.5,
        0.0,
        packed,
        window,
        own_mask=blocks.split(mask[..., None])[..., 0],
        offset=blocks.offset,
    )
    found = blocks.join(tf.matmul(kept, blocks.beside(value))).numpy()
    scores = query @ key.transpose(0, 1, 3, 2) * 0.5 + mask_adder(mask, packed, window).numpy()
    expected = tf.nn.softmax(scores).numpy() @ value
    real = np.broadcast_to((mask > 0)[:, None], found.shape[:3])
    np.testing.assert_allclose(found[real], expected[real], atol=1e-6)


@pytest.mark.parametrize(("columns", "window"), [*SHAPES, (6, 100)])
def test_a_window_without_a_true_column_is_found(columns, window):
    mask = RNG.random((20, columns)) < 0.1
    near = abs(np.subtract.outer(np.arange(columns), np.arange(columns))) <= window
    expected = (mask[:, None] & near).any(axis=-1)
    np.testing.assert_array_equal(any_within(tf.constant(mask), window), expected)
