"""Texts with special tokens written out: said in training, and where a model of transformers answers."""

import unicodedata

import pytest

import kbert
from kbert.config import DatasetConfig
from kbert.experiments.labelled_file import LabelledFile
from kbert.inference.attention import compute_attention
from kbert.input_pipelines.labelled_files import LabelledText
from kbert.input_pipelines.source_rows import make_rows
from kbert.tokenization.base_vocabulary import BERT_TOKENS, ROBERTA_TOKENS
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.written_tokens import LettersApart, LongWords, say_written_tokens
from tfrecords_tools.create_finetuning_data import create_finetuning_data

pytestmark = pytest.mark.usefixtures("eager")
BERT = Vocabulary([*BERT_TOKENS, "a"], True)
MPNET = Vocabulary([*ROBERTA_TOKENS, "a"], True, special_tokens=ROBERTA_TOKENS)


@pytest.mark.parametrize(
    ("vocabulary", "texts", "said"),
    [
        (BERT, ["a", "title [SEP] body"], "[SEP]"),
        (BERT, [LabelledText("a", "a [SEP] b", "[CLS]")], "[SEP]"),
        (BERT, [{"text": "a", "choices": ["[CLS] a"]}], "[CLS]"),
        (BERT, ["fill the [MASK]"], "[MASK]"),
        (BERT, ["a </s> b", "[sep]"], None),
        (MPNET, ["a </s> b"], "</s>"),
        (MPNET, ["a [SEP] b", "<mask>"], "<mask>"),
    ],
)
def test_tokens_of_the_vocabulary_are_seen(vocabulary, texts, said, caplog, request):
    say_written_tokens(texts, vocabulary, request.node.name)
    say_written_tokens(texts, vocabulary, request.node.name)
    assert len(caplog.records) == (said is not None)
    assert said is None or f"texts hold {said} written out" in caplog.text


def say_letters_apart(texts, vocabulary, source):
    letters = LettersApart(vocabulary, source)
    for text in texts:
        letters.look_at(text)
    letters.say()


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    ("words", "rules", "is_said"),
    [
        ("caf\u00e9", {}, True),
        ("\ud55c\uad6d\uc5b4", {}, True),  # Korean: [UNK] in NFD
        ("caf\u00e9", {"strip_accents": True}, False),
        ("\u0634\u0650\u0651", {}, False),
    ],
)
def test_letters_apart_from_their_accents_are_seen(form, words, rules, is_said, caplog, request):
    texts = [LabelledText("plain", unicodedata.normalize(form, words), "x")] * 2 + ["plain"] * 198
    vocabulary = Vocabulary([*BERT_TOKENS, "caf\u00e9"], False, **rules)
    say_letters_apart(texts, vocabulary, request.node.name)
    assert not caplog.records, "one of a hundred texts"
    say_letters_apart(texts[:-1], vocabulary, request.node.name)
    assert len(caplog.records) == (is_said and form == "NFD")
    caplog.clear()
    say_letters_apart(texts[:2], Vocabulary([*BERT_TOKENS, "cafe\u0301"], False, **rules), "of the same form")
    assert not caplog.records


@pytest.mark.parametrize(
    ("words", "is_said"),
    [
        ("\u09b9\u09df", True),  # as Bengali keyboards write it: NFC takes it apart
        ("\u03bb\u1f79\u03b3\u03bf\u03c2", True),  # a Greek accent of ancient texts
        ("\u0634\u0651\u0650", False),  # marks in another order, as Arabic is typed
    ],
)
def test_letters_that_nfc_writes_otherwise_are_seen(words, is_said, caplog, request):
    vocabulary = Vocabulary([*BERT_TOKENS, "caf\u00e9"], False)
    for form in (words, unicodedata.normalize("NFC", words)):
        say_letters_apart([form], vocabulary, request.node.name)
        assert len(caplog.records) == is_said  # of the first
    caplog.clear()
    many = map(str, range(300))
    for tokens in ([words], [words, *many]):
        say_letters_apart([words], Vocabulary([*BERT_TOKENS, *tokens], False), "of the same form")
    assert not caplog.records


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\u0e01\u0e35" * 100 + " a" * 3000, "1 words of more than 100 characters are [UNK], 6% of"),
        ("\u0e01\u0e35" * 100 + " a" * 6000, None),
        ("http://a.b/c?" * 50 + " \u4e2d" * 9 + "\u4e2d" * 300, None),  # of several words each
        ("\u0e01" * 50 + "\u200b" + "\u0e01" * 51, "1 words"),  # no blank
    ],
)
def test_words_beyond_the_limit_are_seen_where_they_are_much_of_the_text(text, said, caplog, request):
    words = LongWords(Vocabulary([*BERT_TOKENS, "a"], False, max_input_chars_per_word=100), request.node.name)
    words.look_at([LabelledText("a", text, "x")])
    words.say()
    assert len(caplog.records) == (said is not None)
    assert said is None or f"{request.node.name}: {said}" in caplog.text


def test_masks_that_are_read_are_passed_over(caplog):
    say_written_tokens(["fill the [MASK]"], BERT, "masks", reads_masks=True)
    assert not caplog.records


def test_a_model_of_transformers_says_it_and_a_run_does_not(finetuned_run, tmp_path, caplog):
    run = kbert.load(finetuned_run.path)
    run.embed(["a [SEP] b"])
    run.predict("a [SEP] b")
    assert "written out" not in caplog.text
    run.save(tmp_path / "folder", "hugging_face")
    of_transformers = kbert.load(tmp_path / "folder")
    of_transformers.embed(["a b"])
    assert "written out" not in caplog.text
    of_transformers.embed(["a [SEP] b"])
    assert f"{tmp_path / 'folder'}: texts hold [SEP] written out" in caplog.text


@pytest.mark.long
def test_masks_are_said_where_a_signature_does_not_read_them(pretraining_run, tmp_path, caplog):
    folder, warning = tmp_path / "folder", "texts hold [MASK] written out"
    kbert.load(pretraining_run.path).save(folder, "hugging_face")
    loaded = kbert.load(folder)
    loaded.predict("walk [MASK]")
    loaded.predict({"text": "walk [MASK]", "candidates": ["a"]})
    compute_attention(loaded, "walk [MASK]", "a")
    assert warning not in caplog.text
    loaded.predict([("walk [MASK]", "a")])
    assert warning in caplog.text


def test_features_say_it(finetuned_run, tmp_path, caplog):
    kbert.load(finetuned_run.path).save(tmp_path / "folder", "hugging_face")
    extract = kbert.FeatureExtractor(tmp_path / "folder")
    extract(["a"], ["b"])
    assert "written out" not in caplog.text
    extract(["a", "b"], ["b [SEP] c", None])
    assert f"{tmp_path / 'folder'}: texts hold [SEP] written out" in caplog.text


def test_a_labelled_file_says_it(tmp_path, vocabulary, caplog):
    file = tmp_path / "train.tsv"
    file.write_text(f"text\tlabel\na [SEP] b\tx\ncafe\u0301\ty\n{'a' * 201}\ty\n", encoding="utf-8")
    task = kbert.SequenceClassification(["x", "y"])
    data = LabelledFile(file, task.files, DatasetConfig())
    make_rows(data, task, kbert.TextInputs(Vocabulary(vocabulary.tokens, False), 8))
    assert f"{file}: texts hold [SEP] written out" in caplog.text
    assert f"{file}: 1 words of more than 200 characters are [UNK]" in caplog.text
    assert f"{file}: 1 text(s) are not in Unicode" in caplog.text


def test_records_of_a_labelled_file_say_it(tmp_path, vocabulary, caplog):
    file, config = tmp_path / "train.tsv", tmp_path / "config.toml"
    file.write_text(f"text\tlabel\na\tx\nb [SEP] cafe\u0301\ty\n{'a' * 201}\ty\n", encoding="utf-8")
    config.write_text('task = "sequence_classification"\nmax_seq_length = 8\n')
    vocabulary.write(tmp_path / "vocab.txt")
    source = {"vocab_file": tmp_path / "vocab.txt", "do_lower_case": False}
    create_finetuning_data(config, file, tmp_path / "records", **source)
    assert f"{file}: texts hold [SEP] written out" in caplog.text
    assert f"{file}: 1 words of more than 200 characters are [UNK]" in caplog.text
    assert f"{file}: 1 text(s) are not in Unicode" in caplog.text


def test_a_labelled_file_says_that_its_words_are_not_known(tmp_path, vocabulary, caplog):
    file, task = tmp_path / "train.tsv", kbert.SequenceClassification(["x", "y"])
    file.write_text("text\tlabel\n\u05e9\u05dc\tx\n\u05d1\ty\n", encoding="utf-8")
    make_rows(LabelledFile(file, task.files, DatasetConfig()), task, kbert.TextInputs(vocabulary, 8))
    assert f"{file}: 33.3% of all tokens are [UNK]" in caplog.text
