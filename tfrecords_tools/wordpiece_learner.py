"""Word counts -> a WordPiece vocabulary, by byte-pair merges on characters. Standard library only.

The original BERT came without its learner. The rule here is the one of Hugging Face's
BertWordPieceTrainer: words start as characters, every one but the first marked `##`, and the most
frequent neighbouring pair becomes one piece, again and again, until the vocabulary is full.
"""

import heapq
from collections import Counter
from collections.abc import Mapping

from absl import logging

CONTINUATION = "##"
# As in the published vocabularies, where 99 slots put [UNK] [CLS] [SEP] [MASK] at ids 100 to 103.
NUM_UNUSED_TOKENS = 99
ALPHABET_LIMIT = 1000  # Hugging Face's limit_alphabet
# TF-Text's WordPiece op refuses pieces of more than 256 bytes; a character takes up to 4.
MAX_CHARACTERS_PER_PIECE = 60


def learn_wordpieces(
    word_counts: Mapping[str, int],
    vocab_size: int,
    *,
    min_frequency: int = 2,
    num_unused_tokens: int = NUM_UNUSED_TOKENS,
    alphabet_limit: int = ALPHABET_LIMIT,
) -> list[str]:
    """Learns the pieces of a `vocab.txt`, in id order.

    The order is [PAD], [unused0] ..., [UNK] [CLS] [SEP] [MASK], the single characters by code point
    (each as the beginning of a word, then those seen inside a word with `##`), then the merges as they
    were learned, the most frequent first. The result depends on the counts alone, not on their order:
    equally frequent pairs are merged in the order of their text.

    Args:
      word_counts: how often each word occurs; words as `split_words` gives them.
      vocab_size: how many pieces to learn, special and unused tokens included.
      min_frequency: pairs that occur less often are not merged.
      num_unused_tokens: slots for pieces of one's own, named in BERT's way.
      alphabet_limit: how many different characters to keep, the most frequent; a word with any other
        character will be [UNK], so it is not learned from.

    Returns:
      `vocab_size` different strings; fewer, with a warning, where no pair is left to merge.

    Raises:
      ValueError: when there are no words, or `vocab_size` has no room for the single characters.
    """
    if not word_counts:
        raise ValueError("there are no words to learn from; expected a corpus with some text.")
    for name, value in (("min_frequency", min_frequency), ("alphabet_limit", alphabet_limit)):
        if value < 1:
            raise ValueError(f"{name}={value} must be at least 1.")
    if num_unused_tokens < 0:
        raise ValueError(f"num_unused_tokens={num_unused_tokens} must be at least 0.")

    kept = frequent_characters(word_counts, alphabet_limit)
    words = sorted(word for word in word_counts if kept.issuperset(word))  # sorted: order must not matter
    reserved = [
        "[PAD]",
        *(f"[unused{i}]" for i in range(num_unused_tokens)),
        *("[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    ]
    inner = {character for word in words for character in word[1:]}
    alphabet = [*sorted(kept), *(CONTINUATION + character for character in sorted(inner))]

    room = vocab_size - len(reserved) - len(alphabet)
    if room < 0:
        raise ValueError(
            f"vocab_size={vocab_size} has no room for {len(reserved)} special and unused tokens and "
            f"{len(alphabet)} single characters; expected at least {len(reserved) + len(alphabet)}. Raise "
            "vocab_size, or lower num_unused_tokens or alphabet_limit."
        )
    counts = [word_counts[word] for word in words]
    merges = _learn_merges(words, counts, room, min_frequency, known={*reserved, *alphabet})
    tokens = reserved + alphabet + merges
    if len(tokens) < vocab_size:
        logging.warning(
            "The corpus has only %d pieces to give, %d were asked for: no other pair of pieces occurs at "
            "least %d times. Bring more text, or ask for vocab_size=%d.",
            *(len(tokens), vocab_size, min_frequency, len(tokens)),
        )
    return tokens


def frequent_characters(word_counts: Mapping[str, int], limit: int) -> set[str]:
    """The `limit` most frequent characters; equally frequent ones in the order of their code points."""
    characters = Counter()
    for word, count in word_counts.items():
        for character in word:
            characters[character] += count
    by_frequency = sorted(characters, key=lambda character: (-characters[character], character))
    return set(by_frequency[:limit])


def _learn_merges(words, counts, room, min_frequency, known) -> list[str]:
    """The first `room` new pieces, in the order they are merged."""
    spelled = [_characters(word) for word in words]  # word index -> its pieces so far
    pair_counts = Counter()
    places = {}  # pair -> indices of words that hold it, or held it once
    for index, pieces in enumerate(spelled):
        for pair in zip(pieces, pieces[1:], strict=False):
            pair_counts[pair] += counts[index]
            places.setdefault(pair, []).append(index)

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

        grown = set()
        for index in dict.fromkeys(places.pop(pair)):
            before = spelled[index]
            after = _merge(before, pair, merged)
            if len(after) == len(before):
                continue
            spelled[index] = after
            for old in zip(before, before[1:], strict=False):
                pair_counts[old] -= counts[index]
            for new in zip(after, after[1:], strict=False):
                pair_counts[new] += counts[index]
                if merged in new:
                    places.setdefault(new, []).append(index)
                    grown.add(new)
        del pair_counts[pair]
        for new in grown:
            if pair_counts[new] >= min_frequency:
                heapq.heappush(heap, (-pair_counts[new], new))
    return merges


def _characters(word):
    return [word[0], *(CONTINUATION + character for character in word[1:])]


def _merge(pieces, pair, merged):
    """`pieces` with every `pair`, from the left, replaced by `merged`."""
    left, right = pair
    result, position = [], 0
    while position < len(pieces):
        if pieces[position] == left and pieces[position + 1 : position + 2] == [right]:
            result.append(merged)
            position += 2
        else:
            result.append(pieces[position])
            position += 1
    return result
