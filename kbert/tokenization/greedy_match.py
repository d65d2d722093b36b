"""Words -> pieces as WordPiece cuts them, outside of a graph. Standard library only.

Vocabularies are learnt with it, and it cuts texts where there is no TensorFlow; `WordPieceTokenizer` cuts
them in the graph.
"""

from collections.abc import Iterable

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
