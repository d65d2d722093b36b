"""Byte-level BPE in the graph against the package tokenizers: ids, offsets, words, masks; in a SavedModel."""

import gzip
import json
import sys
import unicodedata

import pytest
import tensorflow as tf
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.bpe.bpe_tokenizer import BytePairTokenizer
from kbert.tokenization.bpe.bpe_vocabulary import BytePairVocabulary
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary
from tests.kbert.tokenization.tokenizer_checks import session_pieces, traced
from tests.places import SHARED_DATA

GOLDEN = SHARED_DATA / "golden" / "tokenizers"
# Endings of English, runs of one letter, a token that is made in two ways, part of a character, spaces.
MERGES = [
    *[("t", "h"), ("th", "e"), ("Ġ", "the"), ("i", "n"), ("in", "g"), ("Ġ", "a"), ("a", "a"), ("aa", "aa")],
    *[("a", "aa"), ("Ġ", "Ġ"), ("ĠĠ", "Ġ"), ("Ċ", "Ċ"), ("ð", "Ł"), ("Ã", "©"), ("c", "Ã"), ("1", "2")],
    *[("'", "t"), ("Ġ", "b"), ("Ġb", "a"), ("b", "a"), ("Ġ", "ba"), ("Ġba", "aa"), ("<", "m")],
]
TEXTS = [
    "", " ", "  ", "the thing", " the  the   the", "a\n\n\n b \n", "\t\tthe\tthe ",
    "\u3000the\xa0the\u2003\u2003x", "don't can't we'll I'm he'd they've 's's'S it'sa",
    "12,345.67 ½ Ⅳ x²", "café 😀😀 👩\u200d💻", "e\u0301\u0323 \u0301", "a" * 50, "baaa" * 9, "=" * 31,
    " " * 40 + "a", "x\x00y\x85z\x1c\x0b", "\ufeffthe \u200bthe \xadx", "的a學b \U00020000",
    "<mask><s> </s>", "\ue000\U0010ffff\u0378", "İstanbul ﬁne ǅ", "\r\n \r\n",
    "हिन्दी ไทย 한국어 \u1112\u1161",
]  # fmt: skip
INVALID = [
    b"\xff\xfethe\xff the",
    b"th\x80e \xc3",
    b"\xed\xa0\x80a\xf4\x90\x80\x80 a",
    b"\xf0\x9f\x98a",
    b" \xc0\x80 a",
]


def peer(vocabulary, add_prefix_space=False):
    ids, merges = dict(vocabulary.ids), [*vocabulary.merges]
    made = tokenizers.Tokenizer(tokenizers.models.BPE(ids, merges))
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    made.post_processor = tokenizers.processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    return made


small = bpe_vocabulary(list(dict.fromkeys(MERGES)))
tokenizer = BytePairTokenizer(small)


def constant(texts):
    return tf.constant([text if isinstance(text, bytes) else text.encode() for text in texts], tf.string)


def check_offsets(tokenizer, texts):
    pieces = traced(tokenizer)(constant(texts))
    encodings = peer(tokenizer.vocabulary).encode_batch(texts)
    assert pieces.ids.to_list() == [encoding.ids for encoding in encodings]
    assert pieces.words.to_list() == [encoding.word_ids for encoding in encodings]
    spans = zip(pieces.starts.to_list(), pieces.ends.to_list(), strict=True)
    assert [list(zip(*row, strict=True)) for row in spans] == [encoding.offsets for encoding in encodings]


@pytest.mark.parametrize(
    "name", [pytest.param("byte_level_bpe", marks=pytest.mark.long), "byte_level_bpe_small"]
)
@pytest.mark.slow
def test_golden_ids_and_offsets(name):
    folder = GOLDEN / name
    if not folder.is_dir():
        pytest.skip(f"NOT COMPARED WITH GPT-2'S MERGES: {folder} is not there.")
    vocabulary = BytePairVocabulary.from_files(folder / "vocab.json", folder / "merges.txt")
    with gzip.open(folder / "ids.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    golden = BytePairTokenizer(vocabulary)
    texts = [row["text"] for row in rows]
    assert golden(constant(texts)).to_list() == [row["ids"] for row in rows]
    check_offsets(golden, texts)


def test_tricky_texts():
    check_offsets(tokenizer, TEXTS)
    assert tokenizer(constant(TEXTS)).to_list() == [
        encoding.ids for encoding in peer(small).encode_batch(TEXTS)
    ]


_characters = st.one_of(
    st.sampled_from("the 'staab\n\t12<é😀"),
    st.characters(exclude_categories=["Cs", "Cn"], max_codepoint=0xFFFF),
)


@pytest.mark.slow
@settings(max_examples=25, derandomize=True)
@given(texts=st.lists(st.text(_characters, max_size=30), min_size=1, max_size=6))
def test_random_texts(texts):
    check_offsets(tokenizer, texts)


@pytest.mark.long
def test_every_character_is_a_letter_a_number_or_a_space_as_there():
    """Between letters, behind a space and behind itself; all that Python knows, private use left out."""
    characters = [chr(code) for code in range(sys.maxunicode)]
    characters = [char for char in characters if unicodedata.category(char) not in ("Cn", "Co", "Cs")]
    texts = [
        "".join(f"x{c}x {c}{c}1{c}" for c in characters[i : i + 99]) for i in range(0, len(characters), 99)
    ]
    plain = BytePairTokenizer(bpe_vocabulary([]))
    words = [
        row for i in range(0, len(texts), 64) for row in plain.with_offsets(constant(texts[i : i + 64])).words
    ]
    expected = [encoding.word_ids for encoding in peer(plain.vocabulary).encode_batch(texts)]
    found = zip(texts, words, expected, strict=True)
    assert [text for text, mine, theirs in found if mine.numpy().tolist() != theirs] == []


def test_bytes_that_are_not_utf8_are_ignored():
    decoded = [text.decode("utf-8", errors="ignore") for text in INVALID]
    assert tokenizer(constant(INVALID)).to_list() == tokenizer(constant(decoded)).to_list()
    for mine, clean in zip(
        tokenizer.with_offsets(constant(INVALID)), tokenizer.with_offsets(constant(decoded)), strict=True
    ):
        assert mine.to_list() == clean.to_list()


def test_words_that_are_cut_get_a_space_in_front():
    words = ["the", "thing", "", " the", "\nthe", "😀", "two words", "'t"]
    expected = [encoding.ids for encoding in peer(small, add_prefix_space=True).encode_batch(words)]
    assert tokenizer.tokenize_words(constant(words)).to_list() == expected
    assert tokenizer.tokenize_words(constant([b"\xffthe"])).to_list() == [[small.ids["Ġthe"]]]


def test_masks_take_the_space_before_them():
    texts = [
        "the <mask> the",
        "the\n\u2003<mask>the",
        "<mask>",
        "<mask><mask> a",
        " <mask> ",
        "a<mas<mask>k>",
        "",
    ]
    reference = peer(small)
    reference.add_special_tokens([tokenizers.AddedToken("<mask>", lstrip=True, normalized=False)])
    expected = [encoding.ids for encoding in reference.encode_batch(texts)]
    assert tokenizer.tokenize_with_masks(constant(texts)).to_list() == expected
    assert small.mask_id in expected[0]


@pytest.mark.parametrize("letters", ["a", "the", "ba", " ", "é", "aab"])
def test_a_word_of_a_hundred_thousand_letters(letters):
    text = letters * (100_000 // len(letters))
    assert tokenizer(constant([text, "the"])).to_list() == [peer(small).encode(text).ids, [small.ids["the"]]]


def test_no_texts():
    assert (
        tokenizer(constant([])).to_list() == [] and tokenizer.with_offsets(constant([])).ends.to_list() == []
    )


def test_a_saved_model_has_core_ops_alone_and_the_same_pieces(tmp_path):
    answers, gate = session_pieces(tokenizer, TEXTS, tmp_path / "saved")
    assert answers == [values.to_list() for values in tokenizer.with_offsets(constant(TEXTS))]
    assert gate["text_ops"] == [] and gate["oldest_server"] == "2.12"


def test_merges_that_an_editor_on_windows_saved(tmp_path):
    for name, content in small.files().items():
        (tmp_path / name).write_bytes(content)
    file = tmp_path / "merges.txt"
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n") + b"\r\n")
    assert BytePairVocabulary.from_files(tmp_path / "vocab.json", file).merges == small.merges
