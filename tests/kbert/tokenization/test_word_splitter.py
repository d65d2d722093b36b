"""Words in the graph against the original's rules, character by character and at random."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.word_splitter import split_words
from tests.kbert.tokenization import reference_tokenizer
from tests.kbert.tokenization.texts import batches_of_texts, byte_strings, texts

pytestmark = pytest.mark.usefixtures("both_text_ops")
cased_and_uncased = pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])

# Every text of a hypothesis example is tokenized in one batch, so few examples are many texts. The same
# texts are drawn in every run; delete `derandomize` to explore.
fuzz = settings(max_examples=20, derandomize=True)


# What transformers' BertTokenizer can be told, beside what the original does.
OTHER_RULES = {
    "lower case with accents": {"do_lower_case": True, "strip_accents": False},
    "cased without accents": {"do_lower_case": False, "strip_accents": True},
    "uncased, ideographs in words": {"do_lower_case": True, "tokenize_chinese_chars": False},
    "all three": {"do_lower_case": False, "strip_accents": True, "tokenize_chinese_chars": False},
}


def words_of(texts, do_lower_case, **rules):
    words = split_words(
        tf.constant([text.encode("utf-8") for text in texts], tf.string), do_lower_case, **rules
    )
    return [[word.decode("utf-8") for word in row] for row in words.to_list()]


@cased_and_uncased
@fuzz
@given(batch=batches_of_texts)
def test_random_texts_split_as_in_the_original(do_lower_case, batch):
    expected = [reference_tokenizer.split_words(text, do_lower_case) for text in batch]
    assert words_of(batch, do_lower_case) == expected


@pytest.mark.long
@pytest.mark.parametrize("rules", OTHER_RULES.values(), ids=OTHER_RULES)
@fuzz
@given(batch=batches_of_texts)
def test_random_texts_split_by_the_rules_of_transformers(rules, batch):
    assert words_of(batch, **rules) == [reference_tokenizer.split_words(text, **rules) for text in batch]


@pytest.mark.parametrize(
    ("text", "rules", "words"),
    [
        ("Müßiggang ÄÖÜ", {"do_lower_case": True, "strip_accents": False}, ["müßiggang", "äöü"]),
        ("IŞIK İstanbul", {"do_lower_case": True, "strip_accents": False}, ["işik", "i\u0307stanbul"]),
        ("Éclair 한", {"do_lower_case": False, "strip_accents": True}, ["Eclair", "\u1112\u1161\u11ab"]),
        ("ab漢字cd。", {"do_lower_case": True, "tokenize_chinese_chars": False}, ["ab漢字cd", "。"]),
    ],
)
def test_words_by_rules_that_google_does_not_have(text, rules, words):
    assert words_of([text], **rules) == [words]


@cased_and_uncased
@fuzz
@given(st.lists(byte_strings, min_size=1, max_size=16))
def test_bytes_that_are_not_utf8_are_ignored(do_lower_case, rows):
    words = split_words(tf.constant(rows), do_lower_case).to_list()
    texts = [row.decode("utf-8", errors="ignore") for row in rows]
    expected = [reference_tokenizer.split_words(text, do_lower_case) for text in texts]
    assert [[word.decode("utf-8") for word in row] for row in words] == expected


@cased_and_uncased
@fuzz
@given(st.lists(st.one_of(byte_strings, texts.map(str.encode)), min_size=2, max_size=16))
def test_no_rule_joins_text_across_a_space(do_lower_case, parts):
    """What counting words and remembering chunks rest on: a line is its chunks between spaces."""
    line = b" ".join(parts)
    chunks = line.split(b" ")
    (whole,) = split_words(tf.constant([line]), do_lower_case).to_list()
    assert whole == sum(split_words(tf.constant(chunks), do_lower_case).to_list(), [])


@cased_and_uncased
def test_ideograph_blocks_are_spaced_exactly_to_their_ends(do_lower_case):
    blocks = [(0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2B740, 0x2B81D), (0x2B820, 0x2CEA1)]
    for first, last in blocks:
        for inside in (first, last):
            assert words_of([f"a{chr(inside)}b"], do_lower_case) == [["a", chr(inside), "b"]]
    # Kana and Hangul stay within their words.
    assert words_of(["aかbカc한d"], False) == [["aかbカc한d"]]
