"""MediaPipe's rules by hand; tests/export/mediapipe holds them beside MediaPipe itself."""

import random
import unicodedata

import numpy as np
import pytest
import tensorflow as tf

from export.litert.from_text.mediapipe_tokenizer import MediaPipeTokenizer, split_words
from export.litert.from_text.other_reading import MEDIAPIPE, find_reasons, mediapipe_reasons
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from tests.kbert.tokenization import texts
from tests.kbert.tokenization.test_golden_ids import sample_vocabulary
from tests.kbert.tokenization.unicode_residue import residue

PIECES = [*BERT_TOKENS, "a", "##a", "ab", "café", "cafe", "[", "]", "mask", "学"]
ACCENTS, CAPITALS = "accents, which stay", "capitals beyond ASCII, which stay"
CONTROLS = "controls or white space beyond ASCII, which stay in words"

# (text, words, pieces, reasons)
CASES = [
    ("A ab", ["a", "ab"], "a ab", None),
    ("aba", ["aba"], "ab ##a", None),
    ("Café CAFÉ", ["café", "cafÉ"], "café [UNK]", [ACCENTS, CAPITALS]),
    ("[MASK]a", ["[", "mask", "]", "a"], "[ mask ] a", None),
    ("a学a", ["a", "学", "a"], "a 学 a", None),
    ("a\u00a0a", ["a\u00a0a"], "[UNK]", [CONTROLS]),
    ("a\fa", ["a", "a"], "a a", [CONTROLS]),
    ("ab\0a", ["ab"], "ab", [CONTROLS, "a NUL, where the text ends"]),
    ("a" * 100, ["a" * 100], " ".join(["a", *["##a"] * 99]), None),
    ("a" * 101, ["a" * 101], "[UNK]", ["a word of more than 100 bytes, which becomes [UNK]"]),
    (" \r\n\t", [], "", None),
]


@pytest.fixture(scope="module")
def tokenizer():
    return MediaPipeTokenizer(Vocabulary(PIECES, True), 110)


@pytest.mark.parametrize(("text", "words", "pieces", "why"), CASES)
def test_rules_by_hand(tokenizer, text, words, pieces, why):
    assert split_words(text) == words
    rows = tokenizer([text])
    expected = ["[CLS]", *pieces.split(), "[SEP]"]
    assert [PIECES[index] for index in rows["input_ids"][0] if index] == expected
    assert rows["input_mask"][0].tolist() == [1] * len(expected) + [0] * (110 - len(expected))
    assert not rows["segment_ids"].any()
    assert why is None or find_reasons(text, MEDIAPIPE) == why


def test_the_line_of_an_empty_token_may_begin_a_word():
    """A vocabulary's empty token is written as U+2028, which MediaPipe reads as it stands."""
    tokenizer = MediaPipeTokenizer(Vocabulary([*PIECES, ""], True), 8)
    rows = tokenizer(["\u2028 \u2028a"])
    assert rows["input_ids"][0].tolist() == [2, len(PIECES), len(PIECES), PIECES.index("##a"), 3, 0, 0, 0]


def test_another_limit_of_a_word_is_not_mediapipes():
    for limit in (50, 200):
        vocabulary = Vocabulary(PIECES, True, strip_accents=False, max_input_chars_per_word=limit)
        rows = MediaPipeTokenizer(vocabulary, 110)(["a" * 100, "a" * 101])
        assert rows["input_mask"].sum(axis=1).tolist() == [102, 3]
        reasons = mediapipe_reasons(vocabulary.rules)
        assert ACCENTS not in reasons
        assert any("more than 50 characters" in why for why in find_reasons("a" * 60, reasons)) is (
            limit == 50
        )


def cleaned(text):
    """What an app may do before it asks, by docs/mobile.md."""
    kept = []
    for character in text:
        category = unicodedata.category(character)
        if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
            kept.append(" ")
        elif category not in ("Cc", "Cf") and character != "\ufffd":
            kept.append(character)
    decomposed = unicodedata.normalize("NFD", "".join(kept).lower())
    return "".join(character for character in decomposed if unicodedata.category(character) != "Mn")


@pytest.mark.slow  # looks at all of Unicode
@pytest.mark.long
def test_a_cleaned_text_is_read_as_bert_reads_it():
    vocabulary = Vocabulary(sample_vocabulary(), True)
    pool = texts.BREAKS + texts.INVISIBLE + texts.LETTERS + texts.MARKS + texts.PUNCTUATION + texts.EDGES
    pool = "".join(set(pool) - residue().uncased)
    rng = random.Random(3)
    drawn = ["".join(rng.choices(pool + "abc  ", k=rng.randrange(24))) for _ in range(1000)]
    found = MediaPipeTokenizer(vocabulary, 32)([cleaned(text) for text in drawn])["input_ids"]
    expected = TextInputs(vocabulary, 32)(tf.constant(drawn))["input_ids"].numpy()
    assert [ascii(drawn[row]) for row in np.flatnonzero((found != expected).any(axis=1))] == []
    assert (expected > 4).sum() > 1000
