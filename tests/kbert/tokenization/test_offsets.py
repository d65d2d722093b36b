"""Where words and pieces stand in their texts, against the reference in plain Python."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.word_offsets import split_words_with_offsets
from kbert.tokenization.word_splitter import split_words
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization import reference_offsets
from tests.kbert.tokenization.texts import batches_of_texts, byte_strings, vocabulary_tokens

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


@settings(max_examples=10, deadline=None, derandomize=True)
@given(rows=st.lists(byte_strings, min_size=1, max_size=16))
def test_broken_bytes_have_no_place(rows):
    texts = [row.decode("utf-8", errors="ignore") for row in rows]
    assert rows_of(tokenizers[True].with_offsets(tf.constant(rows))) == expected_pieces(texts, True)
