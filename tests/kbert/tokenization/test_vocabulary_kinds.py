"""The three kinds of vocabulary: files out and in, what is refused, and how pairs are packed."""

import pytest
import tensorflow as tf

from kbert.tokenization.base_vocabulary import ROBERTA_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary
from kbert.tokenization.segment_packer import SegmentPacker
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.vocabulary import Vocabulary, require_wordpiece
from kbert.tokenization.vocabulary_files import read_vocabulary
from kbert.tokenization.window_packer import WindowPacker
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary, sentencepiece_model

MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he")]
PIECES = ["<s>", "<pad>", "</s>", "<unk>", *BYTE_CHARACTERS, "Ġt", "he", "Ġthe", "<mask>"]


def make(kind):
    if kind == "bpe":
        return bpe_vocabulary(MERGES)
    if kind == "sentencepiece":
        return SentencePieceVocabulary(sentencepiece_model())
    return Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "##b"], True)


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "sentencepiece"])
def test_what_was_written_is_read_again_and_anything_else_is_refused(kind, tmp_path):
    vocabulary = make(kind)
    vocabulary.write_files(tmp_path)
    read = read_vocabulary(tmp_path, vocabulary.describe())
    assert (read.tokens, read.files(), read.kind) == (vocabulary.tokens, vocabulary.files(), kind)
    with pytest.raises(ValueError, match="fingerprint 0"):
        read_vocabulary(tmp_path, vocabulary.describe() | {"fingerprint": "0"})


@pytest.mark.parametrize(
    "damage",
    [{"special_tokens": ["[PAD]"]}, {"special_tokens": 5}, {"special_tokens": [1, 2, 3, 4, 5]}],
)
def test_a_damaged_description_is_refused(tmp_path, damage):
    vocabulary = make("bpe")
    vocabulary.write_files(tmp_path)
    with pytest.raises(ValueError, match="the description of its vocabulary should have .*5 special_tokens"):
        read_vocabulary(tmp_path, vocabulary.describe() | damage)
    whole = vocabulary.describe()
    for name in ("do_lower_case", "fingerprint"):
        without = {key: value for key, value in whole.items() if key != name}
        with pytest.raises(ValueError, match=f"the description .* should have .*{name}"):
            read_vocabulary(tmp_path, without)


def test_a_piece_that_is_not_utf_8_is_refused():
    model = sentencepiece_model().replace("\u2581".encode(), b"\xff\xff\xff")
    with pytest.raises(ValueError, match="is no whole SentencePiece model .*; copy the file again"):
        SentencePieceVocabulary(model)


def test_xlmr_numbers_pieces_one_higher_and_puts_the_mask_last():
    vocabulary = SentencePieceVocabulary(sentencepiece_model())
    assert vocabulary.tokens[:4] == ("<s>", "<pad>", "</s>", "<unk>")
    assert vocabulary.mask_id == len(vocabulary) - 1


@pytest.mark.parametrize(
    ("merges", "tokens", "message"),
    [
        ([("h", "x")], PIECES, "merge 1, 'h' \\+ 'x', needs the token 'hx'"),
        (MERGES, [token for token in PIECES if token != "A"], "lacks the tokens of 1 bytes, such as 'A'"),
        (MERGES, [token for token in PIECES if token != "<mask>"], "lacks the special tokens <mask>"),
    ],
)
def test_merges_and_tokens_that_do_not_fit_are_refused(merges, tokens, message):
    with pytest.raises(ValueError, match=message):
        BytePairVocabulary(tokens, merges)


def test_what_needs_wordpieces_refuses_the_others():
    with pytest.raises(ValueError, match="kbert trim needs a WordPiece vocabulary; .* is bpe"):
        require_wordpiece(make("bpe"), "kbert trim")


def test_words_go_on_without_the_mark_of_a_beginning():
    bpe, sentencepiece = make("bpe"), make("sentencepiece")
    assert bpe.continues_word("he") and not bpe.continues_word("Ġthe")
    assert sentencepiece.continues_word("s") and not sentencepiece.continues_word("▁s")
    assert (bpe.as_text("Ġthe"), sentencepiece.as_text("▁s")) == ("the", "s")
    assert bpe.as_text("Ã©") == "é" and bpe.as_text("<mask>") == "<mask>"


def packed(packer, *texts, **settings):
    return packer(*(tf.ragged.constant([text], tf.int32) for text in texts), **settings)


def test_a_pair_of_roberta_has_two_separators_and_one_segment():
    vocabulary = make("bpe")
    assert vocabulary.special_tokens == ROBERTA_TOKENS
    rows = packed(SegmentPacker(vocabulary, 9), [11, 12, 13], [21, 22, 23])
    # Room for 5: the first text keeps one more than half.
    assert rows["input_ids"].numpy().tolist() == [[0, 11, 12, 13, 2, 2, 21, 22, 2]]
    assert rows["segment_ids"].numpy().tolist() == [[0] * 9]
    single = packed(SegmentPacker(vocabulary, 6), [11, 12])
    assert single["input_ids"].numpy().tolist() == [[0, 11, 12, 2, 1, 1]]
    assert single["input_mask"].numpy().tolist() == [[1, 1, 1, 1, 0, 0]]


def test_a_window_of_roberta_has_two_separators_before_its_context():
    packer = WindowPacker(make("bpe"), max_seq_length=8, doc_stride=2, max_query_length=2)
    windows = packed(packer, [31, 32, 33, 34], [11, 12])
    assert windows.features["input_ids"].numpy().tolist() == [
        [0, 11, 12, 2, 2, 31, 32, 2],
        [0, 11, 12, 2, 2, 33, 34, 2],
    ]
    assert windows.context_starts.numpy().tolist() == [5, 5]
