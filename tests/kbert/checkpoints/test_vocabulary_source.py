"""The tokenizer of any folder: of tokenizer files, a run, records, an export."""

import dataclasses
import json

import pytest

from kbert.checkpoints import formats
from kbert.checkpoints.hugging_face import hub
from kbert.checkpoints.hugging_face.tokenizer import write_tokenizer
from kbert.checkpoints.vocabulary_source import read_source
from kbert.tokenization.base_vocabulary import BERT_TOKENS
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import SentencePieceVocabulary
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_rules import WordPieceRules
from tests.kbert.tokenization.small_vocabularies import bpe_vocabulary, sentencepiece_model
from tests.tfrecords_tools import small_corpus

MERGES = [("Ġ", "t"), ("h", "e"), ("Ġt", "he")]


@pytest.fixture
def folder(tmp_path):
    """With a vocab.txt of lower case, and nothing else."""
    small_corpus.vocabulary().write(tmp_path / "vocab.txt")
    return tmp_path


def describe(folder, file, vocabulary):
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    vocabulary.write_files((folder / file).parent)
    (folder / file).write_text(json.dumps({"vocabulary": vocabulary.describe()}))
    return folder


@pytest.mark.parametrize("file", ["run.json", "manifest.json", "kbert.json", "assets.extra/kbert.json"])
def test_a_folder_that_describes_its_vocabulary_is_read_by_that(tmp_path, file):
    vocabulary = bpe_vocabulary(MERGES)
    folder = describe(tmp_path / "folder", file, vocabulary)
    assert read_source(None, folder).fingerprint == vocabulary.fingerprint
    for path in folder.rglob("merges.txt"):
        path.write_text("h e\n")
    with pytest.raises(ValueError, match="is not the vocabulary that was written there"):
        read_source(None, folder)


def test_of_several_versions_of_an_export_the_newest_counts(tmp_path):
    vocabularies = {"9": bpe_vocabulary(MERGES[:1]), "10": bpe_vocabulary(MERGES)}
    for version, vocabulary in vocabularies.items():
        describe(tmp_path, f"{version}/assets.extra/kbert.json", vocabulary)
        (tmp_path / version / "saved_model.pb").touch()
    (tmp_path / "20251128").mkdir()
    assert read_source(None, tmp_path).fingerprint == vocabularies["10"].fingerprint


@pytest.mark.parametrize(
    "vocabulary",
    [
        small_corpus.vocabulary(do_lower_case=False),
        bpe_vocabulary(MERGES),
        SentencePieceVocabulary(sentencepiece_model()),
    ],
    ids=lambda vocabulary: vocabulary.kind,
)
def test_tokenizer_files_alone_are_enough(tmp_path, vocabulary):
    write_tokenizer(tmp_path, vocabulary)
    read = read_source(None, tmp_path, allow_unmatched=["do_lower_case"])
    assert (read.fingerprint, read.do_lower_case) == (vocabulary.fingerprint, vocabulary.do_lower_case)


def test_a_casing_that_is_recorded_is_not_doubted(tmp_path, caplog):
    """Lower-case words alone, as `kbert trim` leaves them; a vocab.txt alone may be of another casing."""
    vocabulary = Vocabulary([*BERT_TOKENS, *"the of and play house".split()], do_lower_case=False)
    folder = describe(tmp_path / "folder", "run.json", vocabulary)
    assert read_source(None, folder).do_lower_case is False and not caplog.records
    read_source(folder / "vocab.txt", None, do_lower_case=False)
    assert "try --do_lower_case" in caplog.text


def test_a_folder_says_its_casing_and_a_vocabulary_is_read_with_any(folder):
    assert read_source(None, folder).do_lower_case is True
    assert read_source(folder / "vocab.txt", None, do_lower_case=False).do_lower_case is False
    with pytest.raises(
        ValueError, match="leave it out, or write it into the tokenizer_config.json of a folder that kbert"
    ):
        read_source(None, folder, do_lower_case=False)


@pytest.mark.parametrize("name", ["bert-base-uncased", "hf://org/model"])
def test_the_name_of_a_model_is_as_good_as_its_folder(folder, monkeypatch, name):
    monkeypatch.setattr(hub, "find_model", {"bert-base-uncased": folder}.get)
    monkeypatch.setitem(formats._DOWNLOADS, hub.SCHEME, {"hf://org/model": folder}.get)
    assert read_source(None, name).tokens == small_corpus.TOKENS


CASED = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "A", "a", "##a"]


@pytest.mark.parametrize("own", [{}, {"do_lower_case": False}, {"strip_accents": False}])
def test_a_folder_of_googles_is_read_by_googles_rules(folder, own):
    (folder / "bert_config.json").write_text(json.dumps(own))
    if own == {"do_lower_case": False}:
        (folder / "vocab.txt").write_text("\n".join(CASED))
    expected = WordPieceRules(**{"do_lower_case": True} | own)
    assert read_source(None, folder).rules == expected
    beside = {"tokenize_chinese_chars": False, "do_lower_case": expected.do_lower_case}
    (folder / "tokenizer_config.json").write_text(json.dumps(beside))
    assert read_source(None, folder).rules == dataclasses.replace(expected, tokenize_chinese_chars=False)


def test_a_folder_of_sentence_transformers_may_lower_case_before_its_tokenizer(tmp_path):
    vocabulary = Vocabulary(CASED, do_lower_case=False)
    (tmp_path / "0_Transformer").mkdir()
    write_tokenizer(tmp_path / "0_Transformer", vocabulary)
    (tmp_path / "0_Transformer" / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    modules = [{"idx": 0, "name": "0", "path": "0_Transformer", "type": "sentence_transformers.models.T"}]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    rules = read_source(None, tmp_path).rules
    assert rules.do_lower_case and not rules.strip_accents


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.json", "sentencepiece.bpe.model"])
def test_a_file_of_a_tokenizer_names_its_folder(tmp_path, name):
    with pytest.raises(ValueError, match=f"give its folder instead: tokenizer={tmp_path}."):
        read_source(tmp_path / name, None)
