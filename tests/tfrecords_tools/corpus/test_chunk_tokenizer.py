"""The tokenizer with a memory against the one without: golden texts, random texts, after any other texts."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.vocabulary import SPECIAL_TOKENS, Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization.texts import batches_of_texts, vocabulary_tokens
from tfrecords_tools.corpus import chunk_tokenizer
from tfrecords_tools.corpus.chunk_tokenizer import ChunkTokenizer


def make_rows(tokenizer, lines):
    """The ids as lists, one a line."""
    pieces, lengths = tokenizer(lines)
    assert pieces.ndim == lengths.ndim == 1 and lengths.dtype == np.int64
    assert pieces.dtype == tokenizer.dtype and lengths.sum() == len(pieces)
    return [row.tolist() for row in np.split(pieces, np.cumsum(lengths)[:-1])] if lines else []


@pytest.fixture(scope="module")
def vocabularies():
    return {casing: Vocabulary(vocabulary_tokens(), casing) for casing in (True, False)}


@pytest.fixture(scope="module")
def module_patch():
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def tokenizers(vocabularies, module_patch):
    """For each casing one tokenizer without memory and one whose memory is full all the time."""
    module_patch.setattr(chunk_tokenizer, "_MAX_CHUNKS", 50)
    return {
        casing: (WordPieceTokenizer(vocabulary), ChunkTokenizer(vocabulary))
        for casing, vocabulary in vocabularies.items()
    }


# Few characters, so that chunks come back; bytes, so that half of a character may end a chunk.
_lines = st.lists(
    st.one_of(
        st.text(" ab的,éΣ\t\u3000\x00", max_size=20).map(str.encode),
        st.lists(st.sampled_from([b" ", b"a", b"\xce", b"\xa3", b"\xe7\x9a", b"\xff", b"\xed\xa0\x80"])).map(
            b"".join
        ),
    ),
    max_size=12,
)


@pytest.mark.slow
@pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])
@settings(max_examples=25, deadline=None, derandomize=True)
@given(lines=_lines, texts=batches_of_texts)
def test_any_lines_have_the_tokenizer_s_ids_whatever_was_asked_before(
    tokenizers, do_lower_case, lines, texts
):
    tokenizer, with_memory = tokenizers[do_lower_case]
    lines = lines + [text.encode("utf-8").replace(b"\n", b"") for text in texts]
    assert make_rows(with_memory, lines) == tokenizer(tf.constant(lines, tf.string)).to_list()


def test_long_chunks_are_right_and_not_remembered(vocabularies):
    tokenizer = ChunkTokenizer(vocabularies[True])
    lines = [b"a" * 201 + b" a", b"ab" * 40, b"a" * 64, b"b " + b"ab" * 40]
    expected = WordPieceTokenizer(vocabularies[True])(tf.constant(lines)).to_list()
    for _ in range(2):
        assert make_rows(tokenizer, lines) == expected
    assert set(tokenizer._ids) == {b"a", b"b", b"a" * 64}


def test_memory_is_bounded(vocabularies, monkeypatch):
    monkeypatch.setattr(chunk_tokenizer, "_MAX_CHUNKS", 10)
    tokenizer = ChunkTokenizer(vocabularies[True])
    for start in range(0, 200, 5):
        tokenizer([b"%d" % number for number in range(start, start + 5)])
        assert len(tokenizer._ids) <= 10 + 5


def test_many_new_chunks_are_tokenized_in_several_calls(vocabularies, monkeypatch):
    monkeypatch.setattr("tfrecords_tools.corpus.chunk_tokenizer._BYTES_PER_CALL", 20)
    lines = [b"a b ab abc %d,%d" % (i, i * i) for i in range(100)]
    expected = WordPieceTokenizer(vocabularies[False])(tf.constant(lines)).to_list()
    assert make_rows(ChunkTokenizer(vocabularies[False]), lines) == expected


@pytest.mark.parametrize(("size", "dtype"), [(65_536, np.uint16), (65_537, np.int32)])
def test_ids_take_two_bytes_as_long_as_they_fit(size, dtype):
    tokens = [*SPECIAL_TOKENS, *(f"w{number}" for number in range(size - 6)), "last"]
    pieces, lengths = ChunkTokenizer(Vocabulary(tokens, True))([b"w7 last"])
    assert pieces.dtype == dtype and pieces.tolist() == [12, size - 1] and lengths.tolist() == [2]
