"""Too many pieces -> the most useful ones. Standard library only.

Byte-pair merging leaves intermediate pieces behind (`##idest` on the way to `widest`), which the longest
match seldom or never uses. As in the pruning of unigram models (Kudo 2018, section 3.2), the pieces whose
removal costs the corpus least are dropped. The cost of a removal is how many more pieces WordPiece would cut
the text into.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from kbert.tokenization.greedy_match import GreedyMatcher

_ROUNDS = 4  # several, because the cost of a piece changes as others are dropped


def prune_pieces(
    pieces: Sequence[str], num_kept: int, word_counts: Mapping[str, int], fixed: Collection[str]
) -> list[str]:
    """Drops pieces, a quarter of the surplus at a time, the least useful first.

    Args:
      pieces: what may be dropped; of equally useful pieces, the last are dropped first.
      num_kept: how many to keep.
      word_counts: how often each word occurs.
      fixed: the other pieces of the vocabulary, which are always kept.

    Returns:
      `num_kept` of `pieces`, in their order; all of them if there are no more.
    """
    kept = list(pieces)
    if len(kept) <= num_kept:
        return kept
    matcher = GreedyMatcher([*fixed, *kept])
    uses = Counter()
    words_with = {}  # piece -> words that use it, or used it once
    spelled = {}

    def spell(word):
        matched = matcher(word) or ()
        spelled[word] = matched
        for piece in matched:
            uses[piece] += word_counts[word]
            words_with.setdefault(piece, []).append(word)

    for word in sorted(word_counts):  # sorted: order must not matter
        spell(word)
    for round_number in range(_ROUNDS):
        surplus = len(kept) - num_kept
        num_dropped = math.ceil(surplus / (_ROUNDS - round_number))
        order = {piece: index for index, piece in enumerate(kept)}
        costs = {piece: _cost(piece, matcher, uses) for piece in kept}
        dropped = set(sorted(kept, key=lambda piece: (costs[piece], -order[piece]))[:num_dropped])
        kept = [piece for piece in kept if piece not in dropped]
        matcher.pieces -= dropped
        affected = {word for piece in dropped for word in words_with.pop(piece, ())}
        for word in affected:
            if dropped.isdisjoint(spelled[word]):
                continue
            for piece in spelled[word]:
                uses[piece] -= word_counts[word]
            spell(word)
    return kept


def _cost(piece, matcher, uses) -> float:
    """How many more pieces the corpus needs without this one."""
    if not uses[piece]:
        return 0
    matcher.pieces.remove(piece)
    instead = matcher(piece)
    matcher.pieces.add(piece)
    # Without parts to stand in for it, the words that use it would be [UNK].
    return uses[piece] * (len(instead) - 1) if instead else math.inf
