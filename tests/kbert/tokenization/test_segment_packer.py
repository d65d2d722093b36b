"""Truncation and packing against the original's loops."""

import numpy as np
import pytest
import tensorflow as tf

from kbert.tokenization.python.packing import pack, second_texts
from kbert.tokenization.segment_packer import SegmentPacker
from kbert.tokenization.truncation import truncated_lengths
from kbert.tokenization.vocabulary import Vocabulary

# Ids that differ from one another and from lengths and positions.
PAD, CLS, SEP = 3, 1, 2
VOCABULARY = Vocabulary(["[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"], do_lower_case=True)
LENGTHS = range(21)
PAIRS = [
    ([100 + i for i in range(first)], [200 + i for i in range(second)])
    for first in LENGTHS
    for second in LENGTHS
]


def reference_truncate(first, second, room):
    """run_classifier.py, `_truncate_seq_pair`, in our words: pop from the longer, on a tie the second."""
    first, second = list(first), list(second)
    while len(first) + len(second) > room:
        (first if len(first) > len(second) else second).pop()
    return first, second


def reference_pack(first, second, max_seq_length, padded_length=None):
    """run_classifier.py, `convert_single_example`, in our words."""
    if second is None:
        ids = [CLS, *first[: max_seq_length - 2], SEP]
        segments = [0] * len(ids)
    else:
        first, second = reference_truncate(first, second, max_seq_length - 3)
        ids = [CLS, *first, SEP, *second, SEP]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
    padding = (padded_length or max_seq_length) - len(ids)
    mask = [1] * len(ids) + [0] * padding
    return ids + [PAD] * padding, mask, segments + [0] * padding


def ragged(rows):
    return tf.ragged.constant(rows, ragged_rank=1, dtype=tf.int32)


def as_lists(features):
    assert list(features) == ["input_ids", "input_mask", "segment_ids"]
    assert all(value.dtype == tf.int32 for value in features.values())
    return list(zip(*(value.numpy().tolist() for value in features.values()), strict=True))


def expected(pairs, max_seq_length):
    return [tuple(reference_pack(first, second, max_seq_length)) for first, second in pairs]


@pytest.mark.parametrize("room", [0, 1, 2, 3, 7, 8, 20, 21, 40])
def test_truncated_lengths_are_those_of_the_original_loop(room):
    expected = [tuple(map(len, reference_truncate(*pair, room))) for pair in PAIRS]
    assert [truncated_lengths(*map(len, pair), room, min, max) for pair in PAIRS] == expected
    first, second = (tf.constant([len(pair[i]) for pair in PAIRS]) for i in (0, 1))
    kept = truncated_lengths(first, second, room, tf.minimum, tf.maximum)
    assert list(zip(*(lengths.numpy().tolist() for lengths in kept), strict=True)) == expected


@pytest.mark.parametrize("max_seq_length", [4, 5, 12, 13, 43, 50])
def test_pairs_are_packed_as_by_the_original(max_seq_length):
    packer = SegmentPacker(VOCABULARY, max_seq_length)
    features = packer(ragged([first for first, _ in PAIRS]), ragged([second for _, second in PAIRS]))
    assert as_lists(features) == expected(PAIRS, max_seq_length)


@pytest.mark.parametrize("max_seq_length", [4, 5, 12, 50])
def test_single_texts_are_packed_as_by_the_original(max_seq_length):
    texts = [[100 + i for i in range(length)] for length in LENGTHS]
    features = SegmentPacker(VOCABULARY, max_seq_length)(ragged(texts))
    assert as_lists(features) == expected([(text, None) for text in texts], max_seq_length)


@pytest.mark.parametrize("cls", ["[CLS]", "<s>"])
@pytest.mark.parametrize("paired", [False, True])
def test_numpy_packs_as_the_graph_does(cls, paired):
    special = ("[PAD]", "[UNK]", cls, "</s>" if cls == "<s>" else "[SEP]", "[MASK]")
    vocabulary = Vocabulary(special, True, special_tokens=special)
    pairs = [(first, second if paired else []) for first, second in PAIRS]
    first, second = (ragged([pair[number] for pair in pairs]) for number in (0, 1))
    expected = SegmentPacker(vocabulary, 50)(first, second if paired else None)
    pieces = np.array([piece for pair in pairs for text in pair for piece in text], np.uint16)
    lengths = np.array([list(map(len, pair)) for pair in pairs])
    received = pack(pieces, lengths[:, 0], lengths[:, 1] if paired else None, vocabulary, 50)
    assert list(received) == list(expected)
    for name, values in received.items():
        assert values.dtype == np.int32
        np.testing.assert_array_equal(values, expected[name])
    is_second = second_texts(received, vocabulary.sep_id, vocabulary.pair_separators)
    for row, ids, (_, text) in zip(is_second, received["input_ids"], pairs, strict=True):
        assert ids[row].tolist() == ([*text, vocabulary.sep_id] if paired else [])


def test_pad_to_longest_pads_to_the_longest_of_the_batch():
    packer = SegmentPacker(VOCABULARY, 12)
    pairs = [([7], [8, 9]), ([], []), ([7, 7], [])]
    features = packer(ragged([a for a, _ in pairs]), ragged([b for _, b in pairs]), pad_to_longest=True)
    assert as_lists(features) == [tuple(reference_pack(a, b, 12, padded_length=6)) for a, b in pairs]

    single = packer(ragged([[7], []]), pad_to_longest=True)
    assert single["input_ids"].numpy().tolist() == [[CLS, 7, SEP], [CLS, SEP, PAD]]


@pytest.mark.parametrize("pad_to_longest", [False, True])
@pytest.mark.parametrize("paired", [False, True])
def test_an_empty_batch_stays_empty(pad_to_longest, paired):
    empty = tf.RaggedTensor.from_row_splits(tf.zeros([0], tf.int32), [0])
    features = SegmentPacker(VOCABULARY, 8)(empty, empty if paired else None, pad_to_longest=pad_to_longest)
    for value in features.values():
        assert value.shape == (0, 2 if pad_to_longest else 8)
