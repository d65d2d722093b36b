"""Ids in the graph against the original's: golden files, tricky texts, and at random."""

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.kbert.tokenization import reference_tokenizer
from tests.kbert.tokenization.test_word_splitter import OTHER_RULES
from tests.kbert.tokenization.texts import batches_of_texts, vocabulary_tokens

pytestmark = pytest.mark.usefixtures("both_text_ops")
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def make_tokenizer(pieces, do_lower_case):
    return WordPieceTokenizer(Vocabulary([*SPECIAL, *pieces], do_lower_case))


def pieces_of(tokenizer, texts):
    ids = tokenizer(tf.constant([text.encode("utf-8") for text in texts], tf.string)).to_list()
    return [tokenizer.tokens(row) for row in ids]


def pieces_in_a_dataset(tokenizer, texts):
    dataset = tf.data.Dataset.from_tensor_slices([text.encode("utf-8") for text in texts])
    dataset = dataset.batch(5).map(tokenizer)  # several batches, the last one short
    return [tokenizer.tokens(ids) for batch in dataset for ids in batch.to_list()]


# ------------------------------------------------------------------------------ against the original


fuzz_tokenizers = {
    do_lower_case: WordPieceTokenizer(Vocabulary(vocabulary_tokens(), do_lower_case))
    for do_lower_case in (True, False)
}


def expected_pieces(texts, do_lower_case):
    vocabulary = set(vocabulary_tokens())
    return [reference_tokenizer.tokenize(text, vocabulary, do_lower_case) for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize("do_lower_case", [True, False], ids=["uncased", "cased"])
@settings(max_examples=8, derandomize=True)
@given(texts=batches_of_texts)
def test_random_texts_have_the_original_ids_and_with_masks_those_of_the_texts_between(do_lower_case, texts):
    tokenizer = fuzz_tokenizers[do_lower_case]
    assert pieces_of(tokenizer, texts) == expected_pieces(texts, do_lower_case)
    masked, expected = [text for text in texts if "[MASK]" in text], []
    for text in masked:
        parts = expected_pieces(text.split("[MASK]"), do_lower_case)
        expected.append([*parts[0], *(piece for part in parts[1:] for piece in ("[MASK]", *part))])
    ids = tokenizer.tokenize_with_masks(tf.constant([text.encode() for text in masked], tf.string)).to_list()
    assert [tokenizer.tokens(row) for row in ids] == expected


_short_pieces = st.text("abc", min_size=1, max_size=5)


@pytest.mark.long
@settings(max_examples=40, derandomize=True)
@given(
    beginnings=st.lists(_short_pieces, max_size=12, unique=True),
    continuations=st.lists(_short_pieces, max_size=12, unique=True),
    words=st.lists(st.text("abcd", min_size=1, max_size=12), min_size=1, max_size=30),
)
def test_random_vocabularies_match_greedily(beginnings, continuations, words):
    pieces = [*beginnings, *(f"##{piece}" for piece in continuations)]
    expected = [reference_tokenizer.wordpieces(word, pieces) for word in words]
    assert pieces_of(make_tokenizer(pieces, do_lower_case=True), words) == expected


# ------------------------------------------------------------------------------ tricky texts

# The traps beside the right pieces (ss for ß, fi for the ligature, a plain comma) show a wrong folding
# by its piece, where a smaller vocabulary would show [UNK] for both.
TRICKY_PIECES = """
    a ##a b ##b c ##c d ##d e ##e f ##f r ##r x ##x w ##w ab cd ef ##ab
    A ##A B ##B É é È cafe Cafe café CAFE
    st ##ss ##se ##ras ##raße ß ##ß ss
    fish fi ##sh ﬁ ##ﬁ 2 ##2 ² ##² ½ ##½ 1 ##⁄ ##1 tm ##tm ™ ##™ 20 ##c °
    iv IV abc ABC ##bc 123 σ ς ##σ ##ς στις ##ι
    bad ##cha char soft hyphen ##hyphen zero width ##width ##wi ##dth one two
    … . , ， 。 ！ ! $ + ^ ` ~ - — [ ] mask MASK sep unk # ing ##ing unused ##5
    的 学 豈 한 ##국 \u1112 ##\u1161 ##\u11ab ##\u1100 ##\u116e ##\u11a8 か ##か ア ｱ ﾞ
    \ue000 i ##\u0131 \u0131 k 😀 ❤ ж ##ж
""".split()
TRICKY_PIECES = list(dict.fromkeys(TRICKY_PIECES))

# (text, pieces uncased, pieces cased). From the comparison of tokenizers with the original.
TRICKY = [
    ("a，b。c！", "a ， b 。 c ！", "a ， b 。 c ！"),
    ("a…b", "a … b", "a … b"),
    ("Straße", "st ##raße", "[UNK]"),
    ("ﬁsh", "ﬁ ##sh", "ﬁ ##sh"),
    ("x²", "x ##²", "x ##²"),
    ("½ ™ a™", "½ ™ a ##™", "½ ™ a ##™"),
    ("Ⅳ", "[UNK]", "[UNK]"),
    ("ＡＢＣ１２３", "[UNK]", "[UNK]"),
    ("20℃", "[UNK]", "[UNK]"),
    ("στις Σ ΣΤΙΣ", "στις σ στις", "στις [UNK] [UNK]"),
    ("bad\ufffdchar", "bad ##cha ##r", "bad ##cha ##r"),
    ("a\xa0b\u3000c\u2009d\u202fa\u1680b", "a b c d a b", "a b c d a b"),
    ("a\u2028b\u2029c", "a b c", "a b c"),
    ("c\x0bd a\x00b e\x01f a\x85b", "cd ab ef ab", "cd ab ef ab"),
    ("a\tb\nc\rd", "a b c d", "a b c d"),
    ("soft\xadhyphen zero\ufeffwidth a\u200bb a\u200db", "soft ##hyphen zero ##width ab ab",
     "soft ##hyphen zero ##width ab ab"),
    ("x\u180ew a\u2060b", "x ##w ab", "x ##w ab"),
    ("[MASK] [SEP]", "[ mask ] [ sep ]", "[ MASK ] [ [UNK] ]"),
    ("[unused5] ##ing", "[ unused ##5 ] # # ing", "[ unused ##5 ] # # ing"),
    ("한국", "\u1112 ##\u1161 ##\u11ab ##\u1100 ##\u116e ##\u11a8", "한 ##국"),
    ("a的学b豈", "a 的 学 b 豈", "a 的 学 b 豈"),
    ("かか", "か ##か", "か ##か"),
    ("ア ｱﾞ", "ア [UNK]", "ア [UNK]"),
    ("Café CAFE\u0301", "cafe cafe", "[UNK] [UNK]"),
    ("É E\u0301 è", "e e e", "É [UNK] [UNK]"),
    ("\u212a İ ı", "k i \u0131", "[UNK] [UNK] \u0131"),
    ("\ue000", "\ue000", "\ue000"),
    ("😀 😀😀 ❤\ufe0f", "😀 [UNK] ❤", "😀 [UNK] [UNK]"),
    ("a$b+c^d`e~f", "a $ b + c ^ d ` e ~ f", "a $ b + c ^ d ` e ~ f"),
    ("20° a°b", "[UNK] [UNK]", "[UNK] [UNK]"),
    ("\x97a\x96 b", "a b", "a b"),
    ("", "", ""),
    (" \t\u3000\x00\u200b ", "", ""),
]  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("column", [1, 2], ids=["uncased", "cased"])
def test_tricky_texts_in_a_dataset(column):
    tokenizer = make_tokenizer(TRICKY_PIECES, do_lower_case=column == 1)
    answers = pieces_in_a_dataset(tokenizer, [row[0] for row in TRICKY])
    for row, answer in zip(TRICKY, answers, strict=True):
        assert answer == row[column].split(" ") * bool(row[column]), ascii(row[0])


@pytest.mark.parametrize("limit", [1, 210])
def test_the_limit_of_a_word_is_the_vocabularys(limit):
    vocabulary = Vocabulary([*SPECIAL, "é", "##é"], False, max_input_chars_per_word=limit)
    longest, too_long = pieces_of(WordPieceTokenizer(vocabulary), ["é" * limit, "é" * (limit + 1)])
    assert longest == ["é", *["##é"] * (limit - 1)] and too_long == ["[UNK]"]
    rules = {"do_lower_case": False, "longest": limit}
    assert reference_tokenizer.tokenize("é" * (limit + 1), vocabulary.ids, **rules) == too_long


@pytest.mark.slow
@pytest.mark.parametrize("rules", OTHER_RULES.values(), ids=OTHER_RULES)
@settings(max_examples=10, derandomize=True)
@given(texts=batches_of_texts)
def test_random_texts_have_the_ids_of_the_rules(rules, texts):
    tokens = vocabulary_tokens()
    tokenizer = WordPieceTokenizer(Vocabulary(tokens, max_input_chars_per_word=100, **rules))
    expected = [reference_tokenizer.tokenize(text, set(tokens), longest=100, **rules) for text in texts]
    assert pieces_of(tokenizer, texts) == expected


def test_ids_are_int32_ragged_and_an_empty_batch_is_empty():
    tokenizer = make_tokenizer(["a"], do_lower_case=True)
    ids = tokenizer(tf.constant([], tf.string))
    assert isinstance(ids, tf.RaggedTensor)
    assert (ids.dtype, ids.ragged_rank, ids.to_list()) == (tf.int32, 1, [])
    assert tokenizer(tf.constant([b"", b"a", b""])).to_list() == [[], [5], []]


# ------------------------------------------------------------------------------ [MASK] in a text

MASKED_TEXTS = [
    ("the [MASK] sat", ["the", "[MASK]", "sat"]),
    ("[MASK]", ["[MASK]"]),
    ("[MASK][MASK] sat[MASK]", ["[MASK]", "[MASK]", "sat", "[MASK]"]),
    ("the sat", ["the", "sat"]),
    ("the [mask]", ["the", "[UNK]", "[UNK]", "[UNK]"]),  # the case of the token counts
    ("[SEP] sat", ["[UNK]", "[UNK]", "[UNK]", "sat"]),  # no other special token can be written
    ("", []),
    ("  ", []),
]


def test_a_literal_mask_becomes_the_mask_token_when_asked_for():
    tokenizer = make_tokenizer(["the", "sat"], do_lower_case=True)
    ids = tokenizer.tokenize_with_masks(tf.constant([text for text, _ in MASKED_TEXTS])).to_list()
    assert [tokenizer.tokens(row) for row in ids] == [pieces for _, pieces in MASKED_TEXTS]
