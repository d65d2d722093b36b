"""Rows of the attention: nothing overlaps, nothing is lost, and short examples share."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.layers.real_tokens import AttentionRows, shared_rows


def laid_out(lengths):
    row, column, slot, longest = (value.numpy() for value in shared_rows(tf.constant(lengths, "int32")))
    taken = np.zeros((row.max() + 1, longest), int)
    for r, c, length in zip(row, column, lengths, strict=True):
        assert c + length <= longest
        taken[r, c : c + length] += 1
    return row, slot, taken


@pytest.mark.parametrize("seed", range(8))
def test_examples_share_rows_without_overlap(seed):
    generator = np.random.default_rng(seed)
    lengths = generator.integers(0, generator.choice([3, 40, 700]), generator.integers(1, 90))
    row, slot, taken = laid_out(lengths)
    assert taken.max(initial=0) <= 1
    assert len(set(zip(row, slot, strict=True))) == len(lengths)
    assert set(row) == set(range(row.max() + 1))
    for number in set(row):  # slots count from 0
        assert sorted(slot[row == number]) == list(range((row == number).sum()))


def test_one_long_text_does_not_make_short_ones_long():
    row, _, _ = laid_out([20] * 31 + [512])
    assert row.max() + 1 == 3
    row, _, _ = laid_out([512] * 5)
    assert sorted(row) == list(range(5))
    row, _, _ = laid_out([64, 33, 32, 16, 16])  # 1, 1, 1/2, 1/4, 1/4
    assert row.max() + 1 == 3


def test_tokens_attend_to_their_example_and_come_back():
    row, column, _, longest = shared_rows(tf.constant([2, 5, 1, 2], "int32"))
    examples = np.repeat(np.arange(4), [2, 5, 1, 2])
    within = np.concatenate([np.arange(n) for n in (2, 5, 1, 2)])
    rows = AttentionRows(tf.gather(row, examples), tf.gather(column, examples) + within, longest, examples)
    values = np.random.default_rng(1).normal(size=(10, 6)).astype("float32")
    split = rows.split_heads(tf.constant(values), 3)
    assert split.shape[1:] == (3, 5, 2)
    np.testing.assert_array_equal(rows.merge_heads(split, 3), values)
    mask = rows.mask(rows, "float32").numpy()[:, 0]
    for here, (r, c) in enumerate(zip(rows._row.numpy(), rows._column.numpy(), strict=True)):
        attended = {(r, k) for k in np.flatnonzero(mask[r, c] == 0)}
        own = examples == examples[here]
        assert attended == set(zip(rows._row.numpy()[own], rows._column.numpy()[own], strict=True))
