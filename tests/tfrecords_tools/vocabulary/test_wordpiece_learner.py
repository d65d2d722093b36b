"""The vocabulary learner: an example worked out by hand, and the properties of every vocabulary."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.vocabulary import Vocabulary
from tfrecords_tools.vocabulary.coverage import coverage
from tfrecords_tools.vocabulary.wordpiece_learner import (
    MAX_CHARACTERS_PER_PIECE,
    characters,
    learn_merges,
    learn_more_wordpieces,
    learn_wordpieces,
)

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]

# The example of the byte-pair paper (Sennrich et al. 2016, Algorithm 1), without its end-of-word mark.
WORDS = {"low": 5, "lower": 2, "newest": 6, "widest": 3}


def test_an_example_worked_out_by_hand():
    tokens = learn_wordpieces(WORDS, vocab_size=100, min_frequency=3, num_unused_tokens=1)
    assert tokens[:6] == ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert tokens[6:16] == list("deilnorstw")
    assert tokens[16:26] == [f"##{letter}" for letter in "deilnorstw"]
    # Of equally frequent pairs the one whose text sorts first is merged, and "#" sorts before letters.
    assert tokens[26:] == [
        "##es",  # 9 times (newest 6, widest 3), as often as "##s ##t"
        "##est",  # 9
        "##ow",  # 7 times (low 5, lower 2), as often as "l ##o"
        "low",  # 7
        "##ew",  # 6 times (newest), as often as "##w ##est" and "n ##e"
        "##ewest",  # 6
        "newest",  # 6
        "##dest",  # 3 times (widest), as often as "##i ##d" and "w ##i"
        "##idest",  # 3
        "widest",  # 3; what is left, "low ##e" and "##e ##r", occurs twice
    ]


def random_word_counts(seed, num_words=400, letters="abcdefgh"):
    source = random.Random(seed)
    words = ("".join(source.choices(letters, k=source.randint(1, 9))) for _ in range(num_words))
    return {word: source.randint(1, 50) for word in words}


def test_the_order_of_the_words_does_not_matter():
    counts = random_word_counts(seed=1)
    shuffled = list(counts.items())
    random.Random(2).shuffle(shuffled)
    assert learn_wordpieces(counts, 400) == learn_wordpieces(dict(shuffled), 400)


def slow_reference(word_counts, num_merges, min_frequency):
    """The same rule with every pair counted anew before every merge."""
    spelled = {word: [word[0], *("##" + character for character in word[1:])] for word in word_counts}
    learned = []
    while len(learned) < num_merges:
        pair_counts = {}
        for word, pieces in spelled.items():
            for pair in zip(pieces, pieces[1:], strict=False):
                pair_counts[pair] = pair_counts.get(pair, 0) + word_counts[word]
        if not pair_counts:
            break
        best = min(pair_counts, key=lambda pair: (-pair_counts[pair], pair))
        if pair_counts[best] < min_frequency:
            break
        merged = best[0] + best[1][2:]
        if merged not in learned:
            learned.append(merged)
        for pieces in spelled.values():
            for i in range(len(pieces) - 1):  # the list shrinks: later places may be gone
                if tuple(pieces[i : i + 2]) == best:
                    pieces[i : i + 2] = [merged]
    return learned


@settings(max_examples=60, derandomize=True)
@given(
    word_counts=st.dictionaries(
        st.text("abc", min_size=1, max_size=7), st.integers(1, 9), min_size=1, max_size=15
    ),
    num_merges=st.integers(0, 30),
    min_frequency=st.integers(1, 4),
)
def test_incremental_counting_learns_what_counting_anew_learns(word_counts, num_merges, min_frequency):
    spelled = [characters(word) for word in word_counts]
    merges = learn_merges(spelled, list(word_counts.values()), num_merges, min_frequency, known=())
    assert merges == slow_reference(word_counts, num_merges, min_frequency)


def test_characters_beyond_the_limit_are_left_out_with_their_words():
    counts = {"ab": 10, "ba": 10, "az": 3, "aza": 3}
    tokens = learn_wordpieces(counts, 100, num_unused_tokens=0, alphabet_limit=2)
    assert tokens[5:] == ["a", "b", "##a", "##b", "ab", "ba"]


def test_letters_that_only_begin_words_may_stand_inside_of_others():
    """ "FÜR" was unknown to a vocabulary with "Ü", learned from texts without words in capitals."""
    counts = {"Übf": 9, "\u0301e": 2, "€f": 2, "中": 2, "．": 2}
    tokens = learn_wordpieces(counts, 14 + 5, num_unused_tokens=0)
    assert tokens[5:14] == ["b", "e", "f", "Ü", "\u0301", "€", "中", "．", "##b"]
    assert tokens[14:] == ["##e", "##f", "##Ü", "##\u0301", "Übf"]


def test_the_base_alphabet_is_kept_whether_it_occurs_or_not():
    tokens = learn_wordpieces({"ab": 3}, 100, num_unused_tokens=0, base_alphabet="a1?é")
    assert tokens[5:] == ["1", "?", "a", "b", "é", "##1", "##a", "##b", "##é", "ab"]


def test_user_defined_tokens_stand_before_all_that_is_learned():
    counts = {"playing": 9, "played": 5, "plays": 2}
    tokens = learn_wordpieces(counts, 60, num_unused_tokens=1, user_defined_tokens=["playing", "##ed", "zz"])
    assert tokens[:9] == ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "playing", "##ed", "zz"]
    assert len(tokens) == len(set(tokens))
    assert "play" in tokens  # "played" and "plays" still need it
    assert not {"##ing", "playi", "##ying"} & set(tokens)  # "playing" is whole already


# ------------------------------------------------------------------------------ extending a vocabulary


OLD = [*SPECIAL, *"abcdlowenrst", *(f"##{letter}" for letter in "abcdlowenrst"), "low", "##er", "new"]


def test_the_pieces_that_save_most_are_kept():
    counts = {"lower": 9, "newest": 5, "newer": 3}
    (only,) = learn_more_wordpieces(OLD, counts, 1)
    saved = {}
    for piece in ("lower", "newest", "newer", "##est", "##es"):
        saved[piece] = coverage(counts, OLD).num_pieces - coverage(counts, [*OLD, piece]).num_pieces
    # "lower" is the first merge and saves 9, but three are learned and one is kept.
    assert only == "##est" and saved[only] == 10 > saved["lower"] == 9


def test_characters_that_the_vocabulary_lacks_come_first():
    pieces = learn_more_wordpieces(OLD, {"жар": 9, "lower": 2, "яр": 1}, 20)
    assert pieces[:3] == ["##р", "##а", "ж"]  # "я" occurs once only
    assert "жар" in pieces and "lower" in pieces
    assert coverage({"жар": 1, "яр": 1}, [*OLD, *pieces]).num_unknown == 1


def test_special_tokens_are_no_pieces_of_words():
    assert learn_more_wordpieces([*SPECIAL, "a", "##b"], {"ab": 2}, 5) == ["ab"]


# ------------------------------------------------------------------------------ what cannot be learned


def test_no_piece_is_longer_than_the_wordpiece_op_allows():
    import tensorflow as tf

    from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer

    word = "".join(chr(0x10400 + i % 40) for i in range(200))  # four bytes a character
    tokens = learn_wordpieces({word: 9}, 1000)
    assert max(len(token.removeprefix("##")) for token in tokens) <= MAX_CHARACTERS_PER_PIECE
    assert WordPieceTokenizer(Vocabulary(tokens, False))(tf.constant([word])).row_lengths()[0] < 200
