"""Words -> pieces as WordPiece cuts them, for counting and learning. Standard library only.

The tokenizer itself is `WordPieceTokenizer`; this is its rule for words that are already split and counted.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

CONTINUATION = "##"


class GreedyMatcher:
    """Greedy longest match first.

    Args:
      pieces: the known pieces, those inside of words with `##`.
    """

    def __init__(self, pieces: Iterable[str]):
        self.pieces = set(pieces)
        self._longest = max(map(len, self.pieces), default=0)

    def __call__(self, word: str) -> list[str] | None:
        """The pieces of a word (or of a piece that begins with `##`), None when it is [UNK]."""
        known, longest = self.pieces, self._longest
        prefix, start = (CONTINUATION, 2) if word.startswith(CONTINUATION) else ("", 0)
        matched, length = [], len(word)
        while start < length:
            for end in range(min(length, start + longest), start, -1):
                piece = prefix + word[start:end]
                if piece in known:
                    break
            else:
                return None
            matched.append(piece)
            start, prefix = end, CONTINUATION
        return matched


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
