"""A vocabulary -> the part of it that a corpus needs. Standard library only.

WordPiece takes the longest piece first. A word keeps its pieces as long as all of them are kept: a longer one
than before cannot appear, because nothing is added. So a vocabulary that keeps every piece of every word of a
corpus cuts all texts made of these words as before.
"""

from collections import Counter
from collections.abc import Collection, Mapping

from kbert.tokenization.greedy_match import CONTINUATION, GreedyMatcher
from tfrecords_tools.vocabulary.piece_pruner import prune_pieces


def trim_pieces(
    tokens: Collection[str],
    special_tokens: Collection[str],
    word_counts: Mapping[str, int],
    min_count: int = 1,
    vocab_size: int | None = None,
) -> list[str]:
    """The tokens that a corpus needs, in their order.

    Kept are the special tokens; every character of the corpus, alone and inside of words, so that a new word
    of known characters is not [UNK] where it was none before; and the pieces of the corpus. With `min_count`
    or `vocab_size` there are fewer of these, and words that had the others are cut into smaller pieces.

    Args:
      tokens: the tokens of the vocabulary.
      special_tokens: those that stay whether they occur or not.
      word_counts: how often each word of the corpus occurs.
      min_count: drop pieces that occur less often.
      vocab_size: the most tokens to keep; pieces are dropped whose loss makes the corpus least longer.

    Raises:
      ValueError: when `vocab_size` has no room for special tokens and characters.
    """
    fixed = set(special_tokens) | _characters(tokens, word_counts)
    used = _frequent_pieces(tokens, fixed, word_counts, min_count)
    pieces = [token for token in tokens if token in used and token not in fixed]
    if vocab_size is not None:
        if vocab_size < len(fixed):
            raise ValueError(
                f"--vocab_size={vocab_size} has no room for the {len(fixed)} special tokens and characters "
                f"of the corpus; give at least {len(fixed)}."
            )
        pieces = prune_pieces(pieces, vocab_size - len(fixed), word_counts, fixed)
    kept = fixed | set(pieces)
    return [token for token in tokens if token in kept]


def _characters(tokens, word_counts) -> set[str]:
    known, characters = set(tokens), set().union(*word_counts)
    return {piece for c in characters for piece in (c, CONTINUATION + c) if piece in known}


def _frequent_pieces(tokens, fixed, word_counts, min_count) -> set[str]:
    """The pieces that the corpus uses at least `min_count` times.

    When a piece is dropped its words fall into smaller ones, which may then be frequent enough: pieces that
    are rare are dropped round by round, and those without any use only at the end.
    """
    matcher = GreedyMatcher(tokens)
    while True:
        uses: Counter[str] = Counter()
        for word, count in word_counts.items():
            for piece in matcher(word) or ():
                uses[piece] += count
        rare = {piece for piece, count in uses.items() if count < min_count and piece not in fixed}
        if not rare:
            return set(uses)
        matcher.pieces -= rare
