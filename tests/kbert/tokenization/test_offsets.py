"""Where words and pieces stand in their texts: rule by rule, against the reference, and by properties."""

import random

import pytest
import tensorflow as tf
from hypothesis import given, settings

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.word_offsets import split_words_with_offsets
from kbert.tokenization.word_splitter import split_words
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization import reference_offsets
from tests.kbert.tokenization.test_word_splitter import OTHER_RULES
from tests.kbert.tokenization.texts import batches_of_texts, vocabulary_tokens
from tests.kbert.tokenization.unicode_residue import residue

pytestmark = pytest.mark.usefixtures("both_text_ops")
tokenizers = {
    do_lower_case: WordPieceTokenizer(Vocabulary(vocabulary_tokens(), do_lower_case))
    for do_lower_case in (True, False)
}
both_casings = pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])


def make_rows(result):
    """The fields of an `OffsetTokens` or `OffsetWords` as one list of tuples for each text."""
    fields = [field.to_list() for field in result]
    return [list(zip(*row, strict=True)) for row in zip(*fields, strict=True)]


def tensor_of(texts):
    return tf.constant([text.encode("utf-8") for text in texts], tf.string)


def expected_pieces(texts, do_lower_case):
    tokens = vocabulary_tokens()
    ids = {token: index for index, token in enumerate(tokens)}
    return [
        [(ids[piece], *place) for piece, *place in reference_offsets.pieces(text, ids, do_lower_case)]
        for text in texts
    ]


def expected_words(texts, do_lower_case, **rules):
    return [
        [
            (word.encode("utf-8"), *place)
            for word, *place in reference_offsets.words(text, do_lower_case, **rules)
        ]
        for text in texts
    ]


# ------------------------------------------------------------------------------ rule by rule

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = [
    "caf",
    "##e",
    "e",
    "i",
    "a",
    "##a",
    "ab",
    ",",
    "=",
    "的",
    "\ufb01",
    "##sh",
    "\u1112",
    "##\u1161",
    "##\u11ab",
]

# (text, the pieces uncased with the texts of their spans). The span of a piece begins where the one before
# stops or behind it, so its text and its order say where it is, but for repeated ones.
UNCASED = [
    ("", []),
    (" \u3000\u200b\u0301 ", []),
    ("Café cafe\u0301", [("caf", "Caf"), ("##e", "é"), ("caf", "caf"), ("##e", "e\u0301")]),
    ("cafe\u0323\u0301\u0344", [("caf", "caf"), ("##e", "e\u0323\u0301\u0344")]),
    ("e\u200d\u0301\u200d", [("e", "e\u200d\u0301")]),  # the last deleted one is no accent
    ("\u0301e", [("e", "e")]),  # an accent of nothing
    ("e \u0301e", [("e", "e"), ("e", "e")]),
    ("e\u2028\u0301", [("e", "e")]),
    ("\xade\xad, \ufffde\x00", [("e", "e"), (",", ","), ("e", "e")]),
    ("c\x00af\x07\u200be", [("caf", "c\x00af\x07\u200b"), ("##e", "e")]),
    ("a\u0301\u200ba", [("a", "a\u0301\u200b"), ("##a", "a")]),
    ("한", [("\u1112", "한"), ("##\u1161", "한"), ("##\u11ab", "한")]),
    ("하\u0301", [("\u1112", "하\u0301"), ("##\u1161", "하\u0301")]),
    ("하\u200b\u11ab", [("\u1112", "하\u200b"), ("##\u1161", "하\u200b"), ("##\u11ab", "\u11ab")]),
    ("\u1112\u1161\u11ab", [("\u1112", "\u1112"), ("##\u1161", "\u1161"), ("##\u11ab", "\u11ab")]),
    ("ﬁsh", [("\ufb01", "ﬁ"), ("##sh", "sh")]),
    ("İ I\u0307", [("i", "İ"), ("i", "I\u0307")]),
    ("a的\U000e0100的b", [("a", "a"), ("的", "的\U000e0100"), ("的", "的"), ("[UNK]", "b")]),
    ("≠,\u0301a", [("=", "≠"), (",", ",\u0301"), ("a", "a")]),
    ("b\xad\u0301b\u0301\xad b", [("[UNK]", "b\xad\u0301b\u0301"), ("[UNK]", "b")]),
    ("a" * 201, [("[UNK]", "a" * 201)]),
    ("a" * 3, [("a", "a"), ("##a", "a"), ("##a", "a")]),
    ("\U0001f600\U0001d165ab", [("[UNK]", "\U0001f600\U0001d165ab")]),
]
CASED = [
    ("cafe\u0301", [("[UNK]", "cafe\u0301")]),
    ("caf\xade\xad", [("caf", "caf\xad"), ("##e", "e")]),
    ("한", [("[UNK]", "한")]),
    ("的\u0301", [("的", "的"), ("[UNK]", "\u0301")]),  # the original puts a space behind ideographs
    ("e \u0301e", [("e", "e"), ("[UNK]", "\u0301e")]),
]


@pytest.mark.parametrize(
    ("table", "do_lower_case"), [(UNCASED, True), (CASED, False)], ids=["uncased", "cased"]
)
def test_each_piece_has_its_source(table, do_lower_case):
    tokenizer = WordPieceTokenizer(Vocabulary([*SPECIAL, *PIECES], do_lower_case))
    rows = make_rows(tokenizer.with_offsets(tensor_of([text for text, _ in table])))
    for (text, expected), row in zip(table, rows, strict=True):
        received = [(tokenizer.vocabulary.tokens[index], text[start:end]) for index, start, end, _ in row]
        assert received == expected, ascii(text)


# ------------------------------------------------------------------------------ wherever it runs


@pytest.mark.slow
@pytest.mark.parametrize("rules", OTHER_RULES.values(), ids=OTHER_RULES)
def test_words_by_other_rules_have_the_places_of_the_reference(rules):
    texts = [text for text, _ in UNCASED + CASED]
    texts += ["Müßig İstanbul", "ab漢字か cd", "e\u0301 한국", "Ệ\u0323x"]
    assert make_rows(split_words_with_offsets(tensor_of(texts), **rules)) == expected_words(texts, **rules)


@pytest.mark.long
def test_a_function_takes_batches_of_any_size():
    with_offsets = tf.function(
        tokenizers[True].with_offsets, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    split = tf.function(
        lambda texts: split_words_with_offsets(texts, True),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    for texts in ([], ["ab"], ["한 的", "", "e\u0301 abc"], [" "]):
        assert make_rows(with_offsets(tensor_of(texts))) == expected_pieces(texts, True)
        assert make_rows(split(tensor_of(texts))) == expected_words(texts, True)
    assert with_offsets.experimental_get_tracing_count() == 1


def test_a_very_long_word_in_a_long_text_is_no_matter():
    """A matrix of the words times the longest word would have 4e10 places."""
    number, length = 200_000, 200_000
    texts = tf.constant(["a " * number + "b" * length])
    pieces = tokenizers[True].with_offsets(texts)
    assert pieces.starts[0].numpy().tolist() == [2 * place for place in range(number + 1)]
    assert pieces.ends[0, -1] == 2 * number + length


# ------------------------------------------------------------------------------ against the reference


@pytest.mark.parametrize(
    "do_lower_case",
    [pytest.param(True, id="uncased", marks=pytest.mark.long), pytest.param(False, id="cased")],
)
@settings(max_examples=15, derandomize=True)
@given(texts=batches_of_texts)
def test_random_texts_have_the_places_of_the_reference(do_lower_case, texts):
    tokenizer = tokenizers[do_lower_case]
    pieces = tokenizer.with_offsets(tensor_of(texts))
    assert make_rows(pieces) == expected_pieces(texts, do_lower_case)
    assert pieces.ids.to_list() == tokenizer(tensor_of(texts)).to_list()

    words = split_words_with_offsets(tensor_of(texts), do_lower_case)
    assert make_rows(words) == expected_words(texts, do_lower_case)
    assert words.words.to_list() == split_words(tensor_of(texts), do_lower_case).to_list()


# Letters, marks and white space, whole and in parts, and bytes that are in no UTF-8.
BYTES = [
    bytes([byte])
    for byte in b"ab ,\x00\x80\x81\x8f\x9f\xa0\xb8\xbb\xbf\xc0\xc3\xcc\xe0\xe2\xe4\xed\xef\xf0\xf4\xf5\xff"
]
BYTES += [character.encode("utf-8") for character in "é한的\u0301\u200b\u3000"]


@both_casings
def test_short_rows_of_broken_bytes_have_the_places_of_the_reference(do_lower_case):
    rng = random.Random(5)
    rows = [b"".join(rng.choices(BYTES, k=rng.randint(1, 9))) for _ in range(1_000)]
    texts = [row.decode("utf-8", errors="ignore") for row in rows]
    known = [place for place, text in enumerate(texts) if residue().uncased.isdisjoint(text)]
    received = make_rows(
        tokenizers[do_lower_case].with_offsets(tf.constant([rows[place] for place in known]))
    )
    assert received == expected_pieces([texts[place] for place in known], do_lower_case)
    assert sum(text.encode("utf-8") != row for text, row in zip(texts, rows, strict=True)) > 600
