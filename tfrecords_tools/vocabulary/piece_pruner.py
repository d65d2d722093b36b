"""Too many pieces -> those worth their place. Standard library only.

Byte-pair merging leaves steps behind (`##idest` on the way to `widest`) that the longest match never or
seldom uses. As in the pruning of unigram models (Kudo 2018, section 3.2), the pieces are dropped whose loss
costs the corpus least; what is counted here is what WordPiece does: the pieces that the text would take more.
"""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from tfrecords_tools.vocabulary.greedy_match import GreedyMatcher

_ROUNDS = 4  # what a piece is worth changes as others go


def prune_pieces(
    pieces: Sequence[str], num_kept: int, word_counts: Mapping[str, int], fixed: Collection[str]
) -> list[str]:
    """Drops pieces, a quarter of the surplus at a time, the least useful first.

    Args:
      pieces: what may be dropped; of equally useful ones the last go first.
      num_kept: how many are to stay.
      word_counts: how often each word occurs.
      fixed: the other pieces of the vocabulary, which stay.

    Returns:
      `num_kept` of `pieces`, in their order; all where they are fewer.
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
    """How many pieces more the corpus takes without this one."""
    if not uses[piece]:
        return 0
    matcher.pieces.remove(piece)
    instead = matcher(piece)
    matcher.pieces.add(piece)
    # Without parts to stand in for it, the words that use it would be [UNK].
    return uses[piece] * (len(instead) - 1) if instead else math.inf
