"""Words in the graph against the original's rules, character by character and at random."""

import sys
import unicodedata

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.word_splitter import split_words
from tests.kbert.tokenization import reference_tokenizer
from tests.kbert.tokenization.texts import CAPITALS_NOT_LOWERED, batches_of_texts

cased_and_uncased = pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])

# Every text of a hypothesis example is tokenized in one batch, so few examples are many texts. The same
# texts are drawn in every run; delete `derandomize` to explore.
fuzz = settings(max_examples=40, deadline=None, derandomize=True)


def words_of(texts, do_lower_case):
    words = split_words(tf.constant([text.encode("utf-8") for text in texts], tf.string), do_lower_case)
    return [[word.decode("utf-8") for word in row] for row in words.to_list()]


@cased_and_uncased
@fuzz
@given(texts=batches_of_texts)
def test_random_texts_split_as_in_the_original(do_lower_case, texts):
    expected = [reference_tokenizer.split_words(text, do_lower_case) for text in texts]
    assert words_of(texts, do_lower_case) == expected


@cased_and_uncased
def test_every_character_between_two_letters_splits_as_in_the_original(do_lower_case):
    texts = [f"a{character}B" for character in assigned_characters()]
    expected = [reference_tokenizer.split_words(text, do_lower_case) for text in texts]
    words = words_of(texts, do_lower_case)
    different = {text[1] for text, got, wanted in zip(texts, words, expected, strict=True) if got != wanted}
    assert different == (CAPITALS_NOT_LOWERED if do_lower_case else set())


# Ideographs, Yi and Hangul syllables, Tangut, ideographs again: uniform inside, so a sample is enough.
LARGE_BLOCKS = [
    range(0x3400, 0xA490),
    range(0xAC00, 0xD7A4),
    range(0x17000, 0x18D09),
    range(0x20000, 0x323B0),
]


def assigned_characters():
    """All assigned characters, of the large blocks and of private use a sample."""
    for code_point in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code_point))
        in_large_block = category == "Co" or any(code_point in block for block in LARGE_BLOCKS)
        if category not in ("Cs", "Cn") and (not in_large_block or code_point % 97 == 0):
            yield chr(code_point)


@fuzz
@given(st.lists(st.binary(max_size=12), min_size=1, max_size=16))
def test_bytes_that_are_not_utf8_are_ignored(rows):
    words = split_words(tf.constant(rows), do_lower_case=False).to_list()
    texts = [row.decode("utf-8", errors="ignore") for row in rows]
    expected = [reference_tokenizer.split_words(text, do_lower_case=False) for text in texts]
    # Random bytes seldom spell characters newer than the running Python's Unicode version; leave them out.
    for text, got, wanted in zip(texts, words, expected, strict=True):
        if not any(unicodedata.category(character) == "Cn" for character in text):
            assert [word.decode("utf-8") for word in got] == wanted


@cased_and_uncased
def test_ideograph_blocks_are_spaced_exactly_to_their_ends(do_lower_case):
    blocks = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1)]
    for first, last in blocks:
        for inside in (first, last):
            assert words_of([f"a{chr(inside)}b"], do_lower_case) == [["a", chr(inside), "b"]]
    # Kana and Hangul stay within their words.
    assert words_of(["aかbカc한d"], False) == [["aかbカc한d"]]


def test_an_empty_batch_and_empty_texts_have_no_words():
    assert split_words(tf.constant([], tf.string), do_lower_case=True).to_list() == []
    assert words_of(["", " \u3000\x00 "], do_lower_case=True) == [[], []]
