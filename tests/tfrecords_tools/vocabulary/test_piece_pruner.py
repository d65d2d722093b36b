"""Dropping pieces: the cheapest go, and what stays is right after other pieces went."""

import random

from tfrecords_tools.vocabulary.coverage import coverage
from tfrecords_tools.vocabulary.piece_pruner import prune_pieces

ALPHABET = [*"abcdef", *(f"##{letter}" for letter in "abcdef")]


def test_the_piece_goes_that_costs_fewest_pieces():
    # Without "abcd" 2 words take one piece more ("abc ##d"), without "ef" 3 words, without "abc" nobody.
    counts = {"abcd": 2, "ef": 3}
    pieces = ["abc", "abcd", "ef"]
    assert prune_pieces(pieces, 2, counts, ALPHABET) == ["abcd", "ef"]


def test_a_piece_that_stood_unused_counts_once_it_is_needed():
    # "abc" is unused while "abcd" is there; a second look must not keep "abcd" dropped and "abc" too.
    counts = {"abcd": 2, "ef": 9, "cde": 8, "fa": 7}
    kept = prune_pieces(["abc", "abcd", "ef", "cde", "fa"], 3, counts, ALPHABET)
    assert kept == ["ef", "cde", "fa"]


def test_a_piece_that_nothing_can_replace_stays():
    assert prune_pieces(["xy", "abc", "ab"], 1, {"xy": 1, "abc": 50, "ab": 40}, ALPHABET) == ["xy"]


def test_the_order_of_the_words_does_not_matter_and_all_words_stay_known():
    source = random.Random(3)
    words = ["".join(source.choices("abcdef", k=source.randint(2, 7))) for _ in range(200)]
    counts = {word: source.randint(1, 20) for word in words}
    pieces = list(dict.fromkeys(word[: source.randint(2, 7)] for word in words if len(word) > 1))
    kept = prune_pieces(pieces, 40, counts, ALPHABET)
    backwards = dict(reversed(counts.items()))
    assert prune_pieces(pieces, 40, backwards, ALPHABET) == kept
    assert len(kept) == 40 and kept == [piece for piece in pieces if piece in kept]
    assert coverage(counts, [*ALPHABET, *kept]).num_unknown == 0
    first = coverage(counts, [*ALPHABET, *pieces[:40]]).num_pieces
    assert coverage(counts, [*ALPHABET, *kept]).num_pieces < first
