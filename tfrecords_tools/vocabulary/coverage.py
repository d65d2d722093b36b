"""How well a vocabulary cuts counted words."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kbert.tokenization.greedy_match import GreedyMatcher


class Coverage(NamedTuple):
    """How a vocabulary cuts counted words: how many running words, pieces and unknown words there are."""

    num_words: int
    num_pieces: int
    num_unknown: int


def coverage(counts: Mapping[str, int], tokens: Iterable[str]) -> Coverage:
    """Cuts every counted word into pieces; an unknown word is one piece, [UNK]."""
    matcher = GreedyMatcher(tokens)
    num_words = num_pieces = num_unknown = 0
    for word, count in counts.items():
        pieces = matcher(word)
        num_words += count
        num_pieces += count * len(pieces or "?")
        num_unknown += count * (not pieces)
    return Coverage(num_words, num_pieces, num_unknown)
