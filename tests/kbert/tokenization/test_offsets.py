"""Where words and pieces stand in their texts: rule by rule, against the reference, and by properties."""

import random
import unicodedata

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.word_offsets import OffsetWords, characters_of, spans, split_words_with_offsets
from kbert.tokenization.word_splitter import split_words
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization import reference_offsets, reference_tokenizer
from tests.kbert.tokenization.texts import batches_of_texts, byte_strings, vocabulary_tokens
from tests.kbert.tokenization.unicode_residue import residue

tokenizers = {
    do_lower_case: WordPieceTokenizer(Vocabulary(vocabulary_tokens(), do_lower_case))
    for do_lower_case in (True, False)
}
both_casings = pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])


def rows_of(result):
    """The fields of an `OffsetPieces` or `OffsetWords` as one list of tuples for each text."""
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


def expected_words(texts, do_lower_case):
    return [
        [(word.encode("utf-8"), *place) for word, *place in reference_offsets.words(text, do_lower_case)]
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
    rows = rows_of(tokenizer.with_offsets(tensor_of([text for text, _ in table])))
    for (text, expected), row in zip(table, rows, strict=True):
        received = [(tokenizer.vocabulary.tokens[index], text[start:end]) for index, start, end, _ in row]
        assert received == expected, ascii(text)


def test_pieces_of_one_word_share_its_number():
    tokenizer = WordPieceTokenizer(Vocabulary([*SPECIAL, *PIECES], True))
    pieces = tokenizer.with_offsets(tf.constant(["cafe,cafe aaa", "", "b 的的 한"]))
    assert pieces.words.to_list() == [[0, 0, 1, 2, 2, 3, 3, 3], [], [0, 1, 2, 3, 3, 3]]
    assert pieces.starts.to_list() == [[0, 3, 4, 5, 8, 10, 11, 12], [], [0, 2, 3, 5, 5, 5]]
    assert pieces.ends.to_list() == [[3, 4, 5, 8, 9, 11, 12, 13], [], [1, 3, 4, 6, 6, 6]]


def test_bytes_that_are_not_utf8_are_not_counted():
    tokenizer = WordPieceTokenizer(Vocabulary([*SPECIAL, *PIECES], True))
    texts = [
        b"\xffcaf\xe4\xb8e\xc3 a",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbfa",
        b"\xef\xbb\xbf\xff\xcc\x81a\xcc\x81",
    ]
    pieces = tokenizer.with_offsets(tf.constant(texts))
    assert pieces.starts.to_list() == [[0, 3, 5], [], [1], [2]]
    assert pieces.ends.to_list() == [[3, 4, 6], [], [2], [4]]


# ------------------------------------------------------------------------------ wherever it runs

NOTHING = [[], [b""], [b"", b" \t", b"\xff", b"\xe2\x80\x8b"]]


@pytest.mark.parametrize("rows", NOTHING, ids=["no texts", "an empty text", "texts of nothing"])
@both_casings
def test_nothing_has_no_pieces(rows, do_lower_case):
    texts = tf.constant(rows, tf.string)
    for result in (
        tokenizers[do_lower_case].with_offsets(texts),
        split_words_with_offsets(texts, do_lower_case),
    ):
        for name, field in result._asdict().items():
            is_text = isinstance(result, OffsetWords) and name == "words"
            assert isinstance(field, tf.RaggedTensor) and field.ragged_rank == 1
            assert field.dtype == (tf.string if is_text else tf.int32)
            assert field.to_list() == [[]] * len(rows)


@pytest.mark.slow
def test_a_function_takes_batches_of_any_size():
    with_offsets = tf.function(
        tokenizers[True].with_offsets, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
    )
    split = tf.function(
        lambda texts: split_words_with_offsets(texts, True),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    for texts in ([], ["ab"], ["한 的", "", "e\u0301 abc"], [" "]):
        assert rows_of(with_offsets(tensor_of(texts))) == expected_pieces(texts, True)
        assert rows_of(split(tensor_of(texts))) == expected_words(texts, True)
    assert with_offsets.experimental_get_tracing_count() == 1


@pytest.mark.slow
@pytest.mark.long
@both_casings
@settings(max_examples=4, deadline=None, derandomize=True)
@given(texts=st.lists(batches_of_texts, min_size=4, max_size=8).map(lambda batches: sum(batches, [])))
def test_random_texts_have_their_places_inside_a_dataset(do_lower_case, texts):
    dataset = tf.data.Dataset.from_tensor_slices(tensor_of(texts)).batch(5)
    rows = [row for batch in dataset.map(tokenizers[do_lower_case].with_offsets) for row in rows_of(batch)]
    assert rows == expected_pieces(texts, do_lower_case)


def test_a_very_long_word_in_a_long_text_is_no_matter():
    """A matrix of the words times the longest word would have 4e10 places."""
    number, length = 200_000, 200_000
    texts = tf.constant(["a " * number + "b" * length])
    pieces = tokenizers[True].with_offsets(texts)
    assert pieces.starts[0].numpy().tolist() == [2 * place for place in range(number + 1)]
    assert pieces.ends[0, -1] == 2 * number + length


def test_words_that_do_not_fit_the_texts_are_refused():
    """Should a character ever leave more or fewer characters in company, no wrong place comes out."""
    texts, words = tf.constant(["abc"]), split_words(tf.constant(["abcd"]), True)
    four = characters_of(words)
    with pytest.raises(tf.errors.InvalidArgumentError, match="offsets would be wrong"):
        spans(texts, True, four, words, four, tf.constant([0]))


# ------------------------------------------------------------------------------ against the reference


@pytest.mark.slow
@both_casings
@settings(max_examples=40, deadline=None, derandomize=True)
@given(texts=batches_of_texts)
def test_random_texts_have_the_places_of_the_reference(do_lower_case, texts):
    tokenizer = tokenizers[do_lower_case]
    pieces = tokenizer.with_offsets(tensor_of(texts))
    assert rows_of(pieces) == expected_pieces(texts, do_lower_case)
    assert pieces.ids.to_list() == tokenizer(tensor_of(texts)).to_list()

    words = split_words_with_offsets(tensor_of(texts), do_lower_case)
    assert rows_of(words) == expected_words(texts, do_lower_case)
    assert words.words.to_list() == split_words(tensor_of(texts), do_lower_case).to_list()


@pytest.mark.slow
@settings(max_examples=10, deadline=None, derandomize=True)
@given(rows=st.lists(byte_strings, min_size=1, max_size=16))
def test_broken_bytes_have_no_place(rows):
    texts = [row.decode("utf-8", errors="ignore") for row in rows]
    assert rows_of(tokenizers[True].with_offsets(tf.constant(rows))) == expected_pieces(texts, True)


# Letters, marks and white space, whole and in parts, and bytes that are in no UTF-8.
BYTES = [
    bytes([byte])
    for byte in b"ab ,\x00\x80\x81\x8f\x9f\xa0\xb8\xbb\xbf\xc0\xc3\xcc\xe0\xe2\xe4\xed\xef\xf0\xf4\xf5\xff"
]
BYTES += [character.encode("utf-8") for character in "é한的\u0301\u200b\u3000"]


@both_casings
def test_short_rows_of_broken_bytes_have_the_places_of_the_reference(do_lower_case):
    rng = random.Random(5)
    rows = [b"".join(rng.choices(BYTES, k=rng.randint(1, 9))) for _ in range(3_000)]
    texts = [row.decode("utf-8", errors="ignore") for row in rows]
    known = [place for place, text in enumerate(texts) if residue().uncased.isdisjoint(text)]
    received = rows_of(tokenizers[do_lower_case].with_offsets(tf.constant([rows[place] for place in known])))
    assert received == expected_pieces([texts[place] for place in known], do_lower_case)
    assert sum(text.encode("utf-8") != row for text, row in zip(texts, rows, strict=True)) > 2_000


# ------------------------------------------------------------------------------ what spans promise


def without_final_sigmas(words):
    return [word.replace("ς", "σ") for word in words]  # whether a sigma is final depends on what surrounds it


@both_casings
@settings(max_examples=40, deadline=None, derandomize=True)
@given(texts=batches_of_texts)
def test_the_source_of_a_word_is_that_word_and_begins_with_a_character_of_it(do_lower_case, texts):
    result = rows_of(split_words_with_offsets(tensor_of(texts), do_lower_case))
    for text, row in zip(texts, result, strict=True):
        for word, start, end in row:
            sources = without_final_sigmas(reference_tokenizer.split_words(text[start:end], do_lower_case))
            assert sources == without_final_sigmas([word.decode("utf-8")]), ascii(text)
            shorter = reference_tokenizer.split_words(text[start + 1 : end], do_lower_case)
            assert len("".join(shorter)) < len(word.decode("utf-8")), ascii(text)
            if unicodedata.category(text[end - 1]) != "Mn":
                shorter = reference_tokenizer.split_words(text[start : end - 1], do_lower_case)
                assert len("".join(shorter)) < len(word.decode("utf-8")), ascii(text)


@pytest.mark.slow
@both_casings
@settings(max_examples=40, deadline=None, derandomize=True)
@given(texts=batches_of_texts)
def test_pieces_cover_their_words_side_by_side(do_lower_case, texts):
    words = rows_of(split_words_with_offsets(tensor_of(texts), do_lower_case))
    pieces = rows_of(tokenizers[do_lower_case].with_offsets(tensor_of(texts)))
    for text, word_row, piece_row in zip(texts, words, pieces, strict=True):
        places = [place for _, _, _, place in piece_row]
        assert sorted(set(places)) == list(range(len(word_row))) and places == sorted(places)
        for place, (_, start, end) in enumerate(word_row):
            own = [(first, last) for _, first, last, word in piece_row if word == place]
            assert (own[0][0], own[-1][1]) == (start, end)
            for before, after in zip(own, own[1:], strict=False):
                shares_a_character = before[0] <= after[0] < before[1] <= after[1]
                assert before[1] == after[0] or (do_lower_case and shares_a_character), ascii(text)
        assert all(0 <= first < last <= len(text) for _, first, last, _ in piece_row)
        assert all(last <= first for (_, _, last), (_, first, _) in zip(word_row, word_row[1:], strict=False))
