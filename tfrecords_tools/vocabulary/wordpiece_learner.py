"""Word counts -> a WordPiece vocabulary, by byte-pair merges on characters. Standard library only.

The program that learned the original BERT's vocabulary was not published. The rule here is the one of Hugging
Face's BertWordPieceTrainer: words start as characters, every one but the first marked `##`, and the most
frequent neighbouring pair becomes one piece, again and again. Unlike there, more pieces than asked for are
learned, and those that the longest match rarely uses are dropped (piece_pruner.py).
"""

import heapq
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from absl import logging

from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.character_classes import IDEOGRAPHS, in_python
from kbert.tokenization.greedy_match import CONTINUATION, GreedyMatcher
from tfrecords_tools.vocabulary.piece_pruner import prune_pieces

# As in the published vocabularies, where 99 slots put [UNK] [CLS] [SEP] [MASK] at ids 100 to 103.
NUM_UNUSED_TOKENS = 99
ALPHABET_LIMIT = 1000  # Hugging Face's limit_alphabet
# WordPiece takes pieces of at most 256 bytes (`MAX_BYTES_PER_PIECE`); a character takes up to 4.
MAX_CHARACTERS_PER_PIECE = 60
# How many pieces are learned for each one that is kept. On English novels, values from 1.1 to 1.35 were
# within 0.2 % of each other on held-out text, all better than 1.
_SURPLUS = 1.2
_SURPLUS_OF_EXTENSIONS = 3  # best of 1 to 30 for 99 and 994 German and French pieces beside BERT's own
_IDEOGRAPH = re.compile(f"[{in_python(IDEOGRAPHS)}]")


def learn_wordpieces(
    word_counts: Mapping[str, int],
    vocab_size: int,
    *,
    min_frequency: int = 2,
    num_unused_tokens: int = NUM_UNUSED_TOKENS,
    alphabet_limit: int = ALPHABET_LIMIT,
    base_alphabet: Iterable[str] = (),
    user_defined_tokens: Sequence[str] = (),
) -> list[str]:
    """Learns the pieces of a `vocab.txt`, in id order.

    The order is [PAD], [unused0] ..., [UNK] [CLS] [SEP] [MASK], the user-defined tokens, the single
    characters by code point (each as the beginning of a word, then letters, marks, digits and what else was
    seen inside a word with `##`), then the merges as they were learned, the most frequent first. The result
    depends on the counts alone, not on their order: equally frequent pairs are merged in the order of their
    text.

    Args:
      word_counts: how often each word occurs; words as `split_words` gives them.
      vocab_size: how many pieces to learn, special and unused tokens included.
      min_frequency: pairs that occur less often are not merged.
      num_unused_tokens: how many `[unusedN]` tokens to reserve for pieces that users add later.
      alphabet_limit: how many different characters to keep, the most frequent; a word with any other
        character will be [UNK], so it is not learned from.
      base_alphabet: further characters to keep, whether they occur or not.
      user_defined_tokens: pieces to put into the vocabulary unchanged.

    Returns:
      `vocab_size` different strings; fewer, with a warning, where no pair is left to merge.

    Raises:
      ValueError: when `vocab_size` has no room for the single characters.
    """

    base_alphabet = set(base_alphabet)
    kept = frequent_characters(word_counts, alphabet_limit) | base_alphabet
    known_words = {word: count for word, count in word_counts.items() if kept.issuperset(word)}
    pad, *others = BERT_TOKENS
    reserved = [pad, *(f"[unused{i}]" for i in range(num_unused_tokens)), *others, *user_defined_tokens]
    inner = {character for word in known_words for character in word[1:]}
    inner |= set(filter(_joins_a_word, kept))
    alphabet = [*sorted(kept), *(CONTINUATION + character for character in sorted(inner))]
    alphabet = [piece for piece in alphabet if piece not in reserved]

    room = vocab_size - len(reserved) - len(alphabet)
    if room < 0:
        raise ValueError(
            f"vocab_size={vocab_size} has no room for {len(reserved)} special, unused and user-defined "
            f"tokens and {len(alphabet)} single characters; expected at least "
            f"{len(reserved) + len(alphabet)}. Raise vocab_size, or lower num_unused_tokens or "
            "alphabet_limit."
        )
    tokens = reserved + alphabet
    tokens += _learn_pieces(known_words, room, min_frequency, tokens, _SURPLUS)
    if len(tokens) < vocab_size:
        logging.warning(
            "The corpus gives only %d tokens, but %d were asked for: no other pair of tokens occurs at "
            "least %d times. Use more text, or ask for vocab_size=%d.",
            *(len(tokens), vocab_size, min_frequency, len(tokens)),
        )
    return tokens


def _joins_a_word(character):
    """Letters, marks and digits may stand inside a word, seen there or not, as in a heading in capitals;
    punctuation marks and ideographs are words of their own."""
    joins = character.isalnum() or unicodedata.category(character).startswith("M")
    return joins and not _IDEOGRAPH.match(character)


def learn_more_wordpieces(
    tokens: Sequence[str], word_counts: Mapping[str, int], num_pieces: int, *, min_frequency: int = 2
) -> list[str]:
    """Learns new pieces for an existing vocabulary: those that help most on another corpus.

    First, missing characters of unknown words are added, the most frequent ones; they fill at most half of
    the new pieces. Then each word starts as the pieces that the vocabulary now cuts it into, and neighbouring
    pieces are merged from there. Words that are still unknown are not learned from.

    Args:
      tokens: the vocabulary, special tokens included.
      word_counts: how often each word of the other corpus occurs.
      num_pieces: how many to learn.
      min_frequency: characters and pairs that occur less often are not learned.

    Returns:
      `num_pieces` strings that are not in `tokens`; fewer where there are no more.
    """
    known = [token for token in tokens if token not in BERT_TOKENS]
    matcher = GreedyMatcher(known)
    lacking = Counter()
    for word, count in word_counts.items():
        if matcher(word) is None:
            for piece in characters(word):
                if piece not in matcher.pieces:
                    lacking[piece] += count
    by_frequency = sorted(lacking, key=lambda piece: (-lacking[piece], piece))
    added = [piece for piece in by_frequency[: num_pieces // 2] if lacking[piece] >= min_frequency]
    return added + _learn_pieces(
        word_counts, num_pieces - len(added), min_frequency, [*tokens, *added], _SURPLUS_OF_EXTENSIONS
    )


def _learn_pieces(word_counts, room, min_frequency, known, surplus) -> list[str]:
    """`room` pieces besides the known ones, the most frequent merges first."""
    matcher = GreedyMatcher(token for token in known if token not in BERT_TOKENS)
    words, spelled = [], []
    for word in sorted(word_counts):  # sorted: order must not matter
        pieces = matcher(word)
        if pieces is not None:
            words.append(word)
            spelled.append(pieces)
    counts = [word_counts[word] for word in words]
    merges = learn_merges(spelled, counts, math.ceil(surplus * room), min_frequency, known)
    return prune_pieces(merges, room, dict(zip(words, counts, strict=True)), known)


def frequent_characters(word_counts: Mapping[str, int], limit: int) -> set[str]:
    """The `limit` most frequent characters; equally frequent ones in the order of their code points."""
    counts = Counter()
    for word, count in word_counts.items():
        for character in word:
            counts[character] += count
    by_frequency = sorted(counts, key=lambda character: (-counts[character], character))
    return set(by_frequency[:limit])


def characters(word: str) -> list[str]:
    """A word as single characters, those inside of it with `##`."""
    return [word[0], *(CONTINUATION + character for character in word[1:])]


def learn_merges(
    spelled: list[list[str]], counts: Sequence[int], room: int, min_frequency: int, known: Collection[str]
) -> list[str]:
    """Merges the most frequent pair of neighbouring pieces, again and again.

    Args:
      spelled: the pieces of each word; they are merged in place.
      counts: how often each word occurs.
      room: how many new pieces to learn.
      min_frequency: pairs that occur less often are not merged.
      known: pieces that are not new.

    Returns:
      The first `room` new pieces, in the order they are merged.
    """
    pairs = _Pairs(spelled, counts)
    pair_counts = pairs.counts

    # The smallest entry is the most frequent pair. Counts in the heap are not kept up to date, which
    # would cost a search: a pair that has become rarer is put back with its true count when it comes up.
    heap = [(-count, pair) for pair, count in pair_counts.items() if count >= min_frequency]
    heapq.heapify(heap)
    merges, known = [], set(known)
    while heap and len(merges) < room:
        negative, pair = heapq.heappop(heap)
        count = pair_counts.get(pair, 0)
        if count != -negative:
            if min_frequency <= count < -negative:
                heapq.heappush(heap, (-count, pair))
            continue
        merged = pair[0] + pair[1].removeprefix(CONTINUATION)
        if len(merged.removeprefix(CONTINUATION)) > MAX_CHARACTERS_PER_PIECE:
            continue
        if merged not in known:  # "th" + "##e" and "t" + "##he" give the same piece
            known.add(merged)
            merges.append(merged)

        for new in pairs.merge(pair, merged):
            if pair_counts[new] >= min_frequency:
                heapq.heappush(heap, (-pair_counts[new], new))
    return merges


class _Pairs:
    """Neighbouring pieces of all words: how often each pair occurs, and in which words.

    Args:
      spelled: the pieces of each word; merged in place.
      word_counts: how often each word occurs.
    """

    def __init__(self, spelled, word_counts):
        self._spelled, self._word_counts = spelled, word_counts
        self.counts = Counter()
        self._words = {}  # pair -> indices of words that hold it, or held it once
        for index, pieces in enumerate(spelled):
            for pair in zip(pieces, pieces[1:], strict=False):
                self._add(pair, index)

    def _add(self, pair, index):
        self.counts[pair] += self._word_counts[index]
        self._words.setdefault(pair, []).append(index)

    def merge(self, pair, merged) -> set:
        """Replaces a pair by one piece in every word; returns the pairs that became more frequent."""
        grown = set()
        left, right = pair
        for index in self._words.pop(pair):
            pieces, count = self._spelled[index], self._word_counts[index]
            position = -1
            while (position := _find(pieces, left, position + 1)) >= 0:
                if pieces[position + 1 : position + 2] != [right]:
                    continue
                if position > 0:
                    before = pieces[position - 1]
                    self.counts[before, left] -= count
                    self._add((before, merged), index)
                    grown.add((before, merged))
                if position + 2 < len(pieces):
                    after = pieces[position + 2]
                    self.counts[right, after] -= count
                    self._add((merged, after), index)
                    grown.add((merged, after))
                pieces[position : position + 2] = [merged]
        del self.counts[pair]
        return grown


def _find(pieces, piece, start) -> int:
    """The first position of a piece from `start` on, or -1."""
    try:
        return pieces.index(piece, start)
    except ValueError:
        return -1
