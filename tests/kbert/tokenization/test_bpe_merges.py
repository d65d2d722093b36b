"""Many merges in a step against one at a time, for merges of every kind."""

import itertools

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.bpe.bpe_merges import PairMerger


def merge_one_by_one(word, merges):
    """The rule itself: the pair of lowest rank, the leftmost of equals, until there is none."""
    ranks = {(left, right): (rank, whole) for rank, (left, right, whole) in enumerate(merges)}
    word = list(word)
    while pairs := [(ranks[pair], i) for i, pair in enumerate(itertools.pairwise(word)) if pair in ranks]:
        (_, whole), start = min(pairs)
        word[start : start + 2] = [whole]
    return word


def merge_at_once(words, merges, separator):
    symbols = [separator, separator, *(symbol for word in words for symbol in (*word, separator))]
    merged = PairMerger(merges, separator)(tf.constant(symbols, tf.int32)).numpy().tolist()
    expected = [merge_one_by_one(word, merges) for word in words]
    assert merged == [separator, separator, *(symbol for word in expected for symbol in (*word, separator))]


def numbered(merges):
    """Pairs of strings -> (the merges as ids, how many ids there are). Single letters come first."""
    ids = {letter: index for index, letter in enumerate("abcd")}
    for left, right in merges:
        for token in (left, right, left + right):
            ids.setdefault(token, len(ids))
    return [(ids[left], ids[right], ids[left + right]) for left, right in merges], len(ids)


@st.composite
def merges_of_tokens(draw):
    """Pairs of tokens that are there before; a token may be made twice, and after it is used."""
    tokens, pairs = list("abcd"), []
    for _ in range(draw(st.integers(0, 25))):
        left, right = draw(st.sampled_from(tokens)), draw(st.sampled_from(tokens))
        if len(left + right) <= 9:
            tokens.append(left + right)
            pairs.append((left, right))
    return draw(st.permutations(pairs)) if draw(st.booleans()) else pairs


@pytest.mark.slow
@settings(max_examples=30, derandomize=True)
@given(
    merges=merges_of_tokens(),
    words=st.lists(st.lists(st.sampled_from([0, 0, 1, 1, 2, 3]), max_size=30), min_size=1, max_size=8),
)
def test_the_order_of_merges_changes_nothing(merges, words):
    merge_at_once(words, *numbered(merges))


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6, 7, 64, 101])
def test_runs_of_a_letter_are_merged_from_the_left(length):
    merge_at_once([[0] * length], *numbered([("a", "a"), ("aa", "aa")]))
    merge_at_once([[1] + [0] * length], *numbered([("b", "a"), ("ba", "a"), ("a", "a")]))


def test_a_late_merge_waits_for_its_turn():
    # "abc" is made of a + bc in the end, and abc + d then comes before the rest.
    merges = [("b", "c"), ("abc", "d"), ("d", "d"), ("a", "bc")]
    merge_at_once([[0, 1, 2, 3, 3], [0, 1, 2, 3], [3, 3, 0, 1, 2, 3]], *numbered(merges))


def test_of_equal_pairs_the_last_counts():
    merge_at_once([[0, 1, 2]], *numbered([("a", "b"), ("b", "c"), ("a", "b")]))


def test_without_merges_symbols_stay():
    merge_at_once([[0, 1, 1], []], [], 4)
