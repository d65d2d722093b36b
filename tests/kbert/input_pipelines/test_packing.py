"""Packing: every token once, texts whole and in order, shapes fixed."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.input_pipelines.packing import fixed_rows, needed_rows, pack


def require_whole_texts(positions, lengths, seq_length):
    """Every token of the texts lies in exactly one position, and each text in one piece of one row."""
    end = len(lengths) * seq_length
    expected = np.concatenate([b * seq_length + np.arange(length) for b, length in enumerate(lengths)])
    assert positions.dtype == np.int32
    assert np.array_equal(np.sort(positions[positions < end]), expected)
    for row in positions:
        real = row[row < end]
        assert np.array_equal(row[: len(real)], real)  # nothing but padding behind the texts
        texts = real // seq_length
        assert len(set(texts)) == 1 + np.count_nonzero(np.diff(texts)) or not len(texts)
        assert all(np.diff(real)[np.diff(texts) == 0] == 1)


@pytest.mark.parametrize("seed", range(3))
def test_texts_stay_whole_in_a_fixed_number_of_rows(seed):
    lengths = np.random.default_rng(seed).integers(0, 17, size=20)
    lengths[3] = 16  # a full row
    positions = fixed_rows(lengths, 16, 20)
    assert positions.shape == (20, 16)
    require_whole_texts(positions, lengths, 16)


@pytest.mark.parametrize("seed", range(3))
def test_texts_stay_whole_in_as_many_rows_as_they_need(seed):
    rng = np.random.default_rng(seed)
    micro_batches = rng.integers(0, rng.integers(2, 401), size=(3, 40))
    packed = needed_rows(list(micro_batches), 400)
    (shape,) = {positions.shape for positions in packed}
    assert shape[1] % 64 == 0
    for positions, lengths in zip(packed, micro_batches, strict=True):
        require_whole_texts(positions, lengths, 400)


@pytest.mark.parametrize(
    ("lengths", "shape"),
    [
        ([3] * 10, (1, 64)),
        ([32] * 10, (5, 64)),  # as narrow as the longest allows
        ([33] * 10, (4, 128)),  # in rows of 64 half would be empty
        ([300] * 5, (5, 320)),  # longer rows would cost attention too much
        ([64] * 70, (72, 64)),  # from 64 rows on a multiple of 4
        ([0, 0], (1, 64)),
    ],
    ids=str,
)
def test_rows_are_few_and_full(lengths, shape):
    (positions,) = needed_rows([np.array(lengths)], 400)
    assert positions.shape == shape


def batches(lengths, seq_length=8):
    mask = (np.arange(seq_length) < np.array(lengths)[:, None]).astype(np.int32)
    dataset = tf.data.Dataset.from_tensor_slices({"input_mask": mask, "input_ids": mask * 7})
    return dataset.batch(len(lengths), drop_remainder=True)


def test_parts_are_packed_by_themselves():
    """Two replicas each get rows that point into their own half of the batch."""
    lengths = [3, 4, 8, 2, 2, 2]
    (batch,) = pack(batches(lengths), num_rows=4, num_micro_batches=2)
    positions = batch["packed_positions"].numpy()
    assert np.array_equal(positions[:2], fixed_rows(np.array(lengths[:3]), 8, 2))
    assert np.array_equal(positions[2:], fixed_rows(np.array(lengths[3:]), 8, 2))


def test_shapes_that_vary_are_packed_as_they_come():
    varying = batches([3, 4, 8, 2]).map(lambda batch: {"input_mask": batch["input_mask"]})
    (batch,) = pack(varying.unbatch().batch(4), num_micro_batches=2)
    assert np.array_equal(
        batch["packed_positions"], np.concatenate(needed_rows(np.array([[3, 4], [8, 2]]), 8))
    )
