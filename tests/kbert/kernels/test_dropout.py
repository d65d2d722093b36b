"""The bits behind dropout: the right share, no pattern, another mask for every seed."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.kernels.dropout import dropout_mask, seed_words

SHAPE = (512, 1024)


def mask(first, second, rate=0.1, shape=SHAPE):
    share = dropout_mask(shape, rate, tf.constant([first, second], tf.uint32)).numpy()
    return share > 0


@pytest.mark.parametrize("rate", [0.0, 0.1, 0.9])
def test_the_share_kept_and_its_scale(rate):
    share = dropout_mask(SHAPE, rate, tf.constant([1, 2], tf.uint32)).numpy()
    assert set(np.unique(share)) <= {np.float32(0.0), np.float32(1 / (1 - rate))}
    deviation = np.sqrt(rate * (1 - rate) / share.size)
    assert abs((share > 0).mean() - (1 - rate)) <= 4 * deviation


def test_rows_and_columns_are_kept_evenly():
    """Counts per row and per column spread as independent draws do (variance of a binomial)."""
    kept = mask(5, 6)
    for axis, number in ((0, SHAPE[0]), (1, SHAPE[1])):
        counts = kept.sum(axis=axis)
        expected = number * 0.9 * 0.1
        spread = expected * np.sqrt(2 / len(counts))
        assert abs(counts.var() - expected) < 5 * spread


def correlation(first, second):
    return np.corrcoef(first.ravel(), second.ravel())[0, 1]


def test_neighbours_within_a_mask_are_independent():
    kept = mask(7, 8).ravel()
    limit = 5 / np.sqrt(kept.size)
    for distance in (1, 2, 3, 64, 128, 1023, 1024, 4096, 65536):
        assert abs(correlation(kept[:-distance], kept[distance:])) < limit


def test_masks_of_neighbouring_seeds_are_independent():
    """Steps count the second word up, places and replicas the first: no mask may be another one shifted."""
    limit = 5 / np.sqrt(np.prod(SHAPE))
    start = mask(1000, 2048)
    others = [mask(1000 + d, 2048) for d in (1, 2, 65537)] + [mask(1000, 2048 + d) for d in (1, 1024)]
    for other in [*others, mask(2048, 1000)]:
        for shift in (0, 1, -1, 2, 65537, 1024, -1024):
            assert abs(correlation(start, np.roll(other.ravel(), shift).reshape(SHAPE))) < limit


def test_a_mask_is_a_function_of_seed_and_place():
    assert np.array_equal(mask(3, 4), mask(3, 4))
    assert np.array_equal(mask(3, 4, shape=(1024, 512)).ravel(), mask(3, 4).ravel())
    compiled = tf.function(dropout_mask, jit_compile=True)(SHAPE, 0.1, tf.constant([3, 4], tf.uint32))
    assert np.array_equal(compiled.numpy() > 0, mask(3, 4))


# ------------------------------------------------------------------- draws of a generator that counts on

PER_STEP = 1024  # what a training step leaves between the counts of its draws


def words(draw, first=12345 * 1009 * 65537):
    state = tf.constant([first, draw * PER_STEP], tf.int64)
    return seed_words(state).numpy().tolist()


def test_no_draw_of_a_long_training_comes_back():
    """The original's 1,000,000 steps in 8 parts, and a thousand times as many, in 50 places."""
    draws = [part * 2**22 + step for part in range(0, 2**11, 512) for step in (0, 1, 5)]
    drawn = {tuple(words(draw, place * 65537)) for draw in draws for place in range(0, 50, 7)}
    assert len(drawn) == len(draws) * 8
