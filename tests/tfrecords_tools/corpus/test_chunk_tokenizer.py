"""The tokenizer with a memory against the one without: golden texts, random texts, after any other texts."""

import itertools
import random
import string

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS
from kbert.tokenization.python.word_splitter import split_words
from kbert.tokenization.tokenizer import build_tokenizer
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary, odd_vocabulary
from tests.kbert.tokenization.texts import batches_of_texts, vocabulary_tokens
from tfrecords_tools.corpus import chunk_table, chunk_tokenizer
from tfrecords_tools.corpus.chunk_cutter import ChunkCutter
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
@settings(max_examples=25, derandomize=True)
@given(lines=_lines, texts=batches_of_texts)
def test_any_lines_have_the_tokenizer_s_ids_whatever_was_asked_before(
    tokenizers, do_lower_case, lines, texts
):
    tokenizer, with_memory = tokenizers[do_lower_case]
    lines = lines + [text.encode("utf-8").replace(b"\n", b"") for text in texts]
    assert make_rows(with_memory, lines) == tokenizer(tf.constant(lines, tf.string)).to_list()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bpe", "sentencepiece"])
def test_tokenizers_of_other_kinds(kind):
    vocabulary = odd_vocabulary(kind, {})
    lines = [b"", b"  the  house ", b"The doctor's", b"a\nb", "ho\u3000u 的 的".encode(), b" ", b"ho\xff u "]
    assert make_rows(ChunkTokenizer(vocabulary), lines) == build_tokenizer(vocabulary)(lines).to_list()


def test_byte_pairs_merge_inside_runs_of_white_space():
    spaces = [*map(chr, range(9, 14)), " ", *filter(str.isspace, map(chr, range(0x80, 0x3001)))]
    symbols = [[BYTE_CHARACTERS[byte] for byte in space.encode()] for space in spaces]
    inside = [(first, second) for first, second, *_ in (symbol for symbol in symbols if len(symbol) > 1)]
    inside += [("".join(symbol[:2]), symbol[2]) for symbol in symbols if len(symbol) == 3]
    wholes = ["".join(symbol) for symbol in symbols]
    vocabulary = bpe_vocabulary(list(dict.fromkeys(inside)) + [*itertools.product(wholes, ["Ġ", wholes[0]])])
    rng = random.Random(1)
    lines = ["a \xa0 \xa0 b", "name\t  value"]
    lines += ["".join(rng.choices([*spaces, *" \t\xa0" * 9, "a", "é", "的", "'s"], k=12)) for _ in range(300)]
    lines = [line.replace("\n", "\v").encode() for line in lines]
    assert make_rows(ChunkTokenizer(vocabulary), lines) == build_tokenizer(vocabulary)(lines).to_list()


def test_every_character_that_is_a_chunk_alone_is_a_word_alone(vocabularies):
    is_alone = ChunkCutter(vocabularies[True], 2)._is_alone
    codes = np.flatnonzero(is_alone)
    assert (
        is_alone[list(map(ord, "—’的豈。"))].all()
        and not is_alone[list(map(ord, "한かガᄒ\u3000\u200b"))].any()
    )
    # Of the ideographs that have no decomposition a few.
    codes = [
        *codes[codes < 0x3400],
        *codes[(codes >= 0x3400) & (codes < 0xA000)][::500],
        *codes[codes >= 0xA000],
    ]
    characters = [*string.punctuation, *map(chr, codes)]
    for casing, strip_accents in itertools.product([True, False], repeat=2):
        for character in characters:
            words = split_words(f"a{character}\u0301b", casing, strip_accents)
            behind = split_words("\u0301b", casing, strip_accents)
            assert words == ["a", *split_words(character, casing, strip_accents), *behind]


def test_a_sigma_is_final_or_not_past_punctuation():
    vocabulary = Vocabulary([*BERT_TOKENS, *"ασςβab.'", "##σ", "##ς"], True)
    lines = ["ΑΣ.Β Σ'σ ΣΣ", "ΑΣ. Β", "a.b"]
    expected = WordPieceTokenizer(vocabulary)(tf.constant(lines)).to_list()
    assert vocabulary.unk_id not in itertools.chain(*expected)
    assert make_rows(ChunkTokenizer(vocabulary), [line.encode() for line in lines]) == expected


def test_chunks_of_any_length_are_right_and_remembered(vocabularies):
    tokenizer = ChunkTokenizer(vocabularies[True])
    lines = [b"a" * length + b" " + b"ab" * length for length in (1, 7, 8, 9, 14, 15, 16, 17, 64, 201)]
    lines.append(b"a\0 a\0\0 a")  # other chunks than `a`, with its ids
    expected = WordPieceTokenizer(vocabularies[True])(tf.constant(lines)).to_list()
    assert make_rows(tokenizer, lines) == expected
    tokenizer._tokenize = None
    assert make_rows(tokenizer, lines[::-1]) == expected[::-1]


@pytest.mark.parametrize(("module", "values"), [
    # One hash for many chunks, of length and last bytes alone.
    (chunk_table, {"_FIRST_FACTOR": np.uint64(0), "_SECOND_FACTOR": np.uint64(1 << 50)}),
    # Several calls for new chunks, the first in Python, the others in the graph.
    (chunk_tokenizer, {"_BYTES_PER_CALL": 20, "_BYTES_IN_PYTHON": 200}),
])  # fmt: skip
def test_many_chunks_are_right(vocabularies, monkeypatch, module, values):
    for name, value in values.items():
        monkeypatch.setattr(module, name, value)
    lines = [b"a b ab abc %d,%d" % (i, i * i) for i in range(100)]
    expected = WordPieceTokenizer(vocabularies[False])(tf.constant(lines)).to_list()
    assert make_rows(ChunkTokenizer(vocabularies[False]), lines) == expected


def test_the_table_grows(vocabularies, monkeypatch):
    monkeypatch.setattr(chunk_tokenizer, "_MAX_CHUNKS", 1 << 18)
    tokenizer = ChunkTokenizer(vocabularies[True])
    slots = len(tokenizer._known._slots)
    lines = [b"%d" % number for number in range(slots)]
    for start in (0, slots // 2, 0):
        assert tokenizer(lines[start : start + slots // 2])[1].sum() == slots // 2
    assert len(tokenizer._known) == slots < len(tokenizer._known._slots) // 2


@pytest.mark.parametrize(("limit", "most"), [("_MAX_CHUNKS", 10), ("_MAX_BYTES", 30)])
def test_memory_is_bounded(vocabularies, monkeypatch, limit, most):
    monkeypatch.setattr(chunk_tokenizer, limit, most)
    tokenizer = ChunkTokenizer(vocabularies[True])
    for start in range(100, 300, 5):
        tokenizer([b"%d" % number for number in range(start, start + 5)])
        assert len(tokenizer._known) <= 10 + 5


@pytest.mark.parametrize(("size", "dtype"), [(65_536, np.uint16), (65_537, np.int32)])
def test_ids_take_two_bytes_as_long_as_they_fit(size, dtype):
    tokens = [*BERT_TOKENS, *(f"w{number}" for number in range(size - 6)), "last"]
    pieces, lengths = ChunkTokenizer(Vocabulary(tokens, True))([b"w7 last"])
    assert pieces.dtype == dtype and pieces.tolist() == [12, size - 1] and lengths.tolist() == [2]
