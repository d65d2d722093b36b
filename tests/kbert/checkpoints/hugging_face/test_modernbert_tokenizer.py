"""ModernBERT's tokenizer beside the package tokenizers: normalized texts, runs of spaces, its own files."""

import json
import unicodedata

import pytest
import tensorflow as tf
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

from kbert.checkpoints.hugging_face.tokenizer import read_tokenizer, write_tokenizer
from kbert.checkpoints.report import Report
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.tokenizer import build_tokenizer
from kbert.tokenization.vocabulary_files import read_vocabulary
from tests.kbert.checkpoints.hugging_face.test_tokenizers import golden

MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he"), ("Ġ", "Ġ"), ("ĠĠ", "ĠĠ"), ("Ã", "©"), ("l", "Ã©")]
RUNS = [" " * length for length in range(24, 1, -1)]
TEXTS = [
    "the the  the",
    *(f"the{' ' * number}the" for number in (3, 4, 5, 23, 24, 25, 26, 47, 48, 49, 50, 73)),
    "   the   ",
    " ",
    "  ",
    "",
    "\t  \n  the \n\n  the\u00a0 \u00a0the",
    "cle\u0301 cl\u00e9 e\u0301\u0301 \u1100\u1161\u11a8 \u212b",
    "  e\u0301  \U0001f926\u200d the",
    "it's the 12  .. (the)",
]


def special_file(vocab, merges):
    """A tokenizer.json as ModernBERT's, made by the package: the vocabulary without its added tokens."""
    tokenizer = Tokenizer(models.BPE(vocab, merges))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_tokens([AddedToken(run, normalized=True) for run in RUNS])
    tokenizer.add_tokens([AddedToken(mark, normalized=True) for mark in ("|||IP_ADDRESS|||", "[unused0]")])
    tokenizer.add_special_tokens(
        [AddedToken(token, lstrip=token == "[MASK]") for token in ("<|endoftext|>", *BERT_TOKENS)]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(token, tokenizer.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def small_tokens():
    return [*BYTE_CHARACTERS, *(left + right for left, right in MERGES)]


def written(folder, tokenizer):
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 8192}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def read(folder):
    report = Report("hugging_face", str(folder))
    return read_tokenizer(folder, None, report)[0], report


@pytest.fixture(scope="module")
def tokenizer():
    return special_file({token: index for index, token in enumerate(small_tokens())}, MERGES)


@pytest.fixture(scope="module")
def folder(tokenizer, tmp_path_factory):
    return written(tmp_path_factory.mktemp("modernbert"), tokenizer)


def ids(tokenizer, texts):
    return [encoding.ids for encoding in tokenizer.encode_batch(texts, add_special_tokens=False)]


def test_a_mark_in_a_prompt_is_refused(folder):
    """ColBERT's prefixes: transformers reads them whole."""
    report = Report("hugging_face", str(folder))
    with pytest.raises(ValueError, match=r"the prompt 'query' is '\[unused0\] '.*=prompts"):
        read_tokenizer(folder, None, report, {"document": "a text: ", "query": "[unused0] "})
    read_tokenizer(folder, None, report, {"query": "a  b"})


def test_the_ids_are_those_of_the_package_there_and_back(folder, tokenizer, tmp_path):
    vocabulary, report = read(folder)
    assert (vocabulary.kind, vocabulary.special_tokens, vocabulary.pair_separators) == ("bpe", BERT_TOKENS, 1)
    assert len(vocabulary) == tokenizer.get_vocab_size() and len(vocabulary.space_runs) == len(RUNS)
    assert any("3 added tokens, such as <|endoftext|>, are ordinary text" in note for note in report.notes)
    assert vocabulary.added_marks == {"<|endoftext|>", "|||IP_ADDRESS|||", "[unused0]"}
    expected = ids(tokenizer, TEXTS)
    found = build_tokenizer(vocabulary)(tf.constant(TEXTS)).to_list()
    assert found == expected
    write_tokenizer(tmp_path, vocabulary, 8192, has_segments=False)
    assert ids(Tokenizer.from_file(str(tmp_path / "tokenizer.json")), TEXTS) == expected
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["model_input_names"] == [
        "input_ids",
        "attention_mask",
    ]
    assert read(tmp_path)[0].fingerprint == vocabulary.fingerprint
    assert read_vocabulary(tmp_path, vocabulary.describe()).fingerprint == vocabulary.fingerprint


def test_pairs_are_packed_as_the_package_packs_them(folder, tokenizer):
    vocabulary, _ = read(folder)
    packed = TextInputs(vocabulary, 32)(tf.constant([TEXTS[0]]), tf.constant([TEXTS[1]]))
    expected = tokenizer.encode(TEXTS[0], TEXTS[1])
    number = len(expected.ids)
    assert packed["input_ids"][0, :number].numpy().tolist() == expected.ids
    assert packed["input_mask"][0].numpy().sum() == number


def test_the_ids_of_golden_texts_are_those_of_the_package(tmp_path):
    source, rows = golden("byte_level_bpe_small")
    vocab = json.loads((source / "vocab.json").read_text(encoding="utf-8"))
    kept = {token: index for index, token in enumerate(t for t in vocab if t not in ROBERTA_TOKENS)}
    lines = (source / "merges.txt").read_text(encoding="utf-8").split("\n")[1:]
    tokenizer = special_file(kept, [tuple(line.split(" ")) for line in lines if line])
    vocabulary, _ = read(written(tmp_path, tokenizer))
    texts = [row["text"] for row in rows]
    texts = [text for text in texts if not any(mark in text for mark in ("[", "<|", "|||"))]
    assert len(texts) > 1900 and sum("  " in text for text in texts) > 20
    assert sum(unicodedata.normalize("NFC", text) != text for text in texts) > 20
    assert build_tokenizer(vocabulary)(tf.constant(texts)).to_list() == ids(tokenizer, texts)


def test_pieces_stand_where_their_characters_do(folder):
    """A letter and the accent behind it, which are one character when normalized, stay together."""
    vocabulary, _ = read(folder)
    pieces = build_tokenizer(vocabulary).with_offsets(tf.constant(TEXTS))
    assert pieces.ids.to_list() == build_tokenizer(vocabulary)(tf.constant(TEXTS)).to_list()
    compared = 0
    for text, ids_, starts, ends in zip(
        TEXTS, *(part.to_list() for part in (pieces.ids, pieces.starts, pieces.ends)), strict=True
    ):
        for index, start, end in zip(ids_, starts, ends, strict=True):
            piece = vocabulary.as_text(vocabulary.tokens[index]).strip()
            # Not for parts of a character, nor for a second accent, which has the span of its letter.
            if "\ufffd" not in piece and "\u0301\u0301" not in text[start:end]:
                assert unicodedata.normalize("NFC", text[start:end]).strip() == piece
                compared += bool(piece)
    assert compared > 50
