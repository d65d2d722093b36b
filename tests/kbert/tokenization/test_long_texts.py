"""Heads and tails, and windows of texts and pairs, beside lists of pieces that are cut by hand."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.features import ENCODER_INPUTS, WINDOW_FEATURE
from kbert.tokenization.long_texts import HeadAndTailInputs, WindowInputs, window_owners
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = Vocabulary([*SPECIAL, *LETTERS], do_lower_case=True)
text_inputs = functools.cache(functools.partial(TextInputs, VOCABULARY))
heads_and_tails = functools.cache(lambda length: HeadAndTailInputs(text_inputs(length)))
windows_of = functools.cache(lambda length, stride: WindowInputs(text_inputs(length), stride))

letters = st.lists(st.sampled_from(LETTERS), max_size=30)
texts = st.lists(letters, min_size=1, max_size=3)
pairs = st.lists(st.tuples(letters, letters), min_size=1, max_size=3)


def packed(first, second, length):
    """input_ids and segment_ids of pieces that fit, as lists."""
    tokens, segments = ["[CLS]", *first, "[SEP]"], [0] * (len(first) + 2)
    if second is not None:
        tokens, segments = [*tokens, *second, "[SEP]"], segments + [1] * (len(second) + 1)
    padding = length - len(tokens)
    assert padding >= 0
    return [VOCABULARY.ids[one] for one in tokens] + [0] * padding, segments + [0] * padding


def spans(total, room, step):
    """(start, end) of each window of `total` pieces."""
    found, start = [(0, min(room, total))], 0
    while found[-1][1] < total:
        start += step
        found.append((start, min(start + room, total)))
    return found


def kept_of_pair(first, second, room):
    """How many pieces of each stay: popped from the longer, on a tie from the second, until both fit."""
    kept = [len(first), len(second)]
    while sum(kept) > room:
        kept[0 if kept[0] > kept[1] else 1] -= 1
    return kept


def strings(columns):
    return tf.constant([" ".join(one) for one in columns])


def make_rows(inputs):
    return [inputs[name].numpy().tolist() for name in ("input_ids", "segment_ids")]


@given(examples=texts, length=st.integers(5, 16), stride=st.none() | st.integers(1, 3))
@settings(max_examples=12)
def test_windows_of_a_text(examples, length, stride):
    inputs = windows_of(length, stride)(strings(examples))
    room = length - 2
    found = [spans(len(one), room, stride or max(room // 2, 1)) for one in examples]
    expected = [packed(one[s:e], None, length) for one, w in zip(examples, found, strict=True) for s, e in w]
    assert make_rows(inputs) == [list(column) for column in zip(*expected, strict=True)]
    assert inputs[WINDOW_FEATURE].numpy().tolist() == [n for w in found for n in range(len(w))]
    owners = [place for place, w in enumerate(found) for _ in w]
    assert window_owners(inputs[WINDOW_FEATURE]).numpy().tolist() == owners


@given(examples=pairs, length=st.integers(5, 16), stride=st.none() | st.integers(1, 3))
@settings(max_examples=12)
def test_windows_of_the_second_text_of_a_pair(examples, length, stride):
    firsts, seconds = zip(*examples, strict=True)
    inputs = windows_of(length, stride)(strings(firsts), strings(seconds))
    expected, numbers = [], []
    for first, second in examples:
        first = first[: kept_of_pair(first, second, length - 3)[0]]
        room = length - 3 - len(first)
        step = max(min(room, stride or room // 2), 1)
        found = spans(len(second), room, step) if room else [(0, 0)]
        expected += [packed(first, second[start:end], length) for start, end in found]
        numbers += range(len(found))
        assert room or not second  # no piece is lost
    assert make_rows(inputs) == [list(column) for column in zip(*expected, strict=True)]
    assert inputs[WINDOW_FEATURE].numpy().tolist() == numbers


def head_and_tail(pieces, kept):
    if kept == len(pieces):
        return pieces
    head = max(kept * 128 // 510, 1) if kept else 0
    return pieces[:head] + pieces[len(pieces) - (kept - head) :]


@pytest.mark.slow
@given(examples=pairs, length=st.integers(4, 16))
@settings(max_examples=12)
def test_the_head_and_the_tail_of_a_text_and_of_both_of_a_pair(examples, length):
    firsts, seconds = zip(*examples, strict=True)
    expected = [packed(head_and_tail(one, min(len(one), length - 2)), None, length) for one in firsts]
    inputs = heads_and_tails(length)(strings(firsts))
    assert make_rows(inputs) == [list(column) for column in zip(*expected, strict=True)]
    expected = []
    for first, second in examples:
        kept = kept_of_pair(first, second, length - 3)
        expected.append(packed(head_and_tail(first, kept[0]), head_and_tail(second, kept[1]), length))
    inputs = heads_and_tails(length)(strings(firsts), strings(seconds))
    assert make_rows(inputs) == [list(column) for column in zip(*expected, strict=True)]


def test_of_510_pieces_the_first_128_and_the_last_382_stay():
    pieces = [LETTERS[place * 7 % 26] for place in range(700)]
    (ids,) = HeadAndTailInputs(text_inputs(512))(strings([pieces]))["input_ids"].numpy().tolist()
    assert ids[1:-1] == [VOCABULARY.ids[one] for one in pieces[:128] + pieces[-382:]]


@pytest.mark.long
def test_what_fits_is_packed_bit_for_bit_as_without_windows_in_a_graph():
    """Padded to the longest, which is shorter than a row may be."""
    arguments = [strings(["abcdefgh", "", "ab"]), strings(["", "abcdefgh", "a"])]
    plain = text_inputs(12)(*arguments, pad_to_longest=True)
    for read in (heads_and_tails(12), windows_of(12, 3)):
        inputs = tf.function(read)(*arguments, pad_to_longest=True)
        for name in ENCODER_INPUTS:
            np.testing.assert_array_equal(inputs[name], plain[name])
        assert not np.any(inputs.get(WINDOW_FEATURE, 0))


def test_rows_after_a_gap_are_a_text_of_their_own():
    assert window_owners([0, 1, 2, 0, 2, 3, 0, 1]).numpy().tolist() == [0, 0, 0, 1, 2, 2, 3, 3]
    assert window_owners([4, 5, 0]).numpy().tolist() == [0, 0, 1]
