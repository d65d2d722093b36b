"""A trimmed vocabulary cuts the words of its corpus as the whole one does, and has nothing else."""

import random
from collections import Counter

import pytest

from tests.kbert.tokenization.reference_tokenizer import wordpieces
from tfrecords_tools.vocabulary.trimming import trim_pieces

SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
LETTERS = "abcde"


def random_case(seed):
    """(vocabulary, counted words): many pieces that compete for the same words, some characters unknown."""
    rng = random.Random(seed)

    def letters(longest):
        return "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, longest)))

    starts = {letters(4) for _ in range(60)} | set(LETTERS[:4])
    inside = {f"##{letters(3)}" for _ in range(60)} | {f"##{c}" for c in LETTERS[:4]}
    tokens = [*SPECIAL, *sorted(starts | inside), "[unused0]"]
    rng.shuffle(tokens)
    return tokens, Counter({letters(8): rng.randint(1, 9) for _ in range(40)})


@pytest.mark.parametrize("seed", range(5))
def test_every_word_of_the_corpus_keeps_its_pieces_and_no_other_piece_stays(seed):
    tokens, words = random_case(seed)
    kept = trim_pieces(tokens, SPECIAL, words)
    used = set()
    for word in words:
        pieces = wordpieces(word, set(tokens))
        assert wordpieces(word, set(kept)) == pieces
        used.update(pieces)
    characters = {piece for word in words for c in word for piece in (c, f"##{c}")} & set(tokens)
    assert set(kept) == used | characters | set(SPECIAL)
    assert kept == [token for token in tokens if token in set(kept)]  # ids keep their order


@pytest.mark.parametrize("seed", range(2))
def test_rare_pieces_go_and_no_word_becomes_unknown(seed):
    tokens, words = random_case(seed)
    kept = set(trim_pieces(tokens, SPECIAL, words, min_count=12))
    uses = Counter()
    for word, count in words.items():
        pieces = wordpieces(word, kept)
        if wordpieces(word, set(tokens)) != ["[UNK]"] and "e" not in word:
            assert pieces != ["[UNK]"]
        uses.update({piece: 0 for piece in pieces})
        for piece in pieces:
            uses[piece] += count
    longer = {piece for piece in kept - set(SPECIAL) if len(piece.removeprefix("##")) > 1}
    assert longer and all(uses[piece] >= 12 for piece in longer)
    assert len(kept) < len(trim_pieces(tokens, SPECIAL, words))


def test_there_are_as_many_tokens_as_asked_for():
    tokens, words = random_case(3)
    everything = trim_pieces(tokens, SPECIAL, words)
    kept = trim_pieces(tokens, SPECIAL, words, vocab_size=len(everything) - 7)
    assert len(kept) == len(everything) - 7 and set(kept) < set(everything)
    with pytest.raises(ValueError, match="--vocab_size=6 has no room for the .* give at least"):
        trim_pieces(tokens, SPECIAL, words, vocab_size=6)
