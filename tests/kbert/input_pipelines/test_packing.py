"""Packing: every token once, texts whole and in order, shapes fixed."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.input_pipelines.packing import pack, packed_places


@pytest.mark.parametrize("seed", range(8))
def test_every_token_lies_in_exactly_one_place_and_texts_stay_whole(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 17, size=20)
    lengths[3] = 16  # a full row
    places = packed_places(lengths, 16, 20)
    expected = np.concatenate([b * 16 + np.arange(length) for b, length in enumerate(lengths)])
    assert places.dtype == np.int32 and places.shape == (20, 16)
    assert np.array_equal(np.sort(places[places < 20 * 16]), expected)
    for row in places:
        real = row[row < 20 * 16]
        assert np.array_equal(row[: len(real)], real)  # nothing but padding behind the texts
        texts = real // 16
        assert len(set(texts)) == 1 + np.count_nonzero(np.diff(texts)) or not len(texts)
        assert all(np.diff(real)[np.diff(texts) == 0] == 1)


def test_few_rows_are_enough():
    """Texts of 5, 4, 3, 2 and 2 tokens fit two rows of 8 without a gap."""
    places = packed_places([2, 5, 2, 3, 4], 8, 2)
    assert (places < 40).all()


def test_texts_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"3 texts with 15 tokens do not fit into 2 rows of 8; raise packed"):
        packed_places([5, 5, 5], 8, 2)


def batches(lengths, seq_length=8):
    mask = (np.arange(seq_length) < np.array(lengths)[:, None]).astype(np.int32)
    dataset = tf.data.Dataset.from_tensor_slices({"input_mask": mask, "input_ids": mask * 7})
    return dataset.batch(len(lengths), drop_remainder=True)


def test_parts_are_packed_by_themselves():
    """Two replicas each get rows that point into their own half of the batch."""
    lengths = [3, 4, 8, 2, 2, 2]
    (batch,) = pack(batches(lengths), num_rows=4, num_parts=2)
    places = batch["packed_places"].numpy()
    assert np.array_equal(places[:2], packed_places(lengths[:3], 8, 2))
    assert np.array_equal(places[2:], packed_places(lengths[3:], 8, 2))


def test_shapes_are_fixed_for_xla():
    spec = pack(batches([3, 4]), num_rows=1).element_spec
    assert spec["packed_places"].shape == (1, 8) and spec["packed_places"].dtype == tf.int32


def test_what_cannot_be_packed_is_refused():
    with pytest.raises(ValueError, match="packing needs batches of one shape: set pad_to_longest=false"):
        pack(tf.data.Dataset.from_tensors({"input_mask": tf.ones((1, 8), tf.int32)}).unbatch().batch(3), 1)
    with pytest.raises(ValueError, match="packed_rows=3 and batches of 2 must both divide by the 2 parts"):
        pack(batches([3, 4]), num_rows=3, num_parts=2)
    with pytest.raises(tf.errors.OpError, match="do not fit into 1 rows of 8; raise packed_rows"):
        list(pack(batches([5, 5]), num_rows=1))
