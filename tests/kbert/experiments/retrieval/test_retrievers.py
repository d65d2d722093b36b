"""Retrievers: parts that are kept are read again, and a cross-encoder orders what was found first."""

import random
import re

import numpy as np
import pytest
from scipy import sparse

import kbert
from kbert.experiments.retrieval import evaluation, retrievers
from kbert.experiments.retrieval.search_words import WORD, with_blanks
from kbert.inference.loaded_model import LoadedModel
from kbert.tasks.sequences.sequence_regression import SequenceRegression
from tests.kbert.experiments.retrieval.vectors_of_letters import LetterVectors
from tests.kbert.inference.random_model import random_task_model

RNG = random.Random(1)
TEXTS = ["".join(RNG.choices("abcdefghij", k=RNG.randint(3, 20))) for _ in range(50)]
QUERIES = TEXTS[:3] + ["abba", "cafe"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(retrievers, "TEXTS_AT_ONCE", 8)
    monkeypatch.setattr(retrievers, "QUERIES_AT_ONCE", 2)


def best_of_all(model, k):
    scores = model.similarity(model.embed(QUERIES), model.embed(TEXTS))
    return np.sort(scores, axis=1)[:, ::-1][:, :k]


def test_vectors_find_what_a_comparison_with_all_texts_finds():
    model = LetterVectors()
    found = retrievers.VectorRetriever(model).find(QUERIES, TEXTS, 6)
    np.testing.assert_allclose(found.scores, best_of_all(model, 6), atol=1e-6)
    assert found.positions[:3, 0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", ["dense", "sparse", "tokens"])
def test_vectors_that_were_kept_are_read_again(tmp_path, monkeypatch, kind, caplog):
    made = {
        "dense": lambda vectors: vectors,
        "sparse": sparse.csr_array,
        "tokens": lambda vectors: [np.stack([row, row + 1][: 1 + n % 2]) for n, row in enumerate(vectors)],
    }[kind]
    model = LetterVectors()
    monkeypatch.setattr(model, "embed", lambda texts, task=None, embed=model.embed: made(embed(texts)), False)
    monkeypatch.setattr(retrievers.VectorRetriever, "_fingerprint", lambda self: "weights")
    parts = [
        list(retrievers.VectorRetriever(model, folder).parts(TEXTS))
        for folder in (None, tmp_path / "kept", tmp_path / "kept")
    ]
    assert model.embedded == 2 * len(TEXTS)
    for (first, expected), (_, written), (_, read) in zip(*parts, strict=True):
        for found in (written, read):
            assert type(found) is type(expected) and first % 8 == 0
            if kind == "tokens":
                assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
            else:
                assert (abs(found - expected)).sum() == 0
    model_of_others = list(retrievers.VectorRetriever(model, tmp_path / "kept").parts([*TEXTS[:9], "other"]))
    assert model.embedded == 2 * len(TEXTS) + 2 and len(model_of_others) == 2  # the first part is known
    for number, file in enumerate(sorted((tmp_path / "kept").iterdir())):  # copies that were broken off
        file.write_bytes(file.read_bytes()[: (0, 9, 100, -9)[number % 4]])
    model.embedded = 0
    for _ in range(2):
        list(retrievers.VectorRetriever(model, tmp_path / "kept").parts(TEXTS))
        assert model.embedded == len(TEXTS) and caplog.text.count("computed again") == len(parts[0])


def test_vectors_are_those_of_this_version_these_weights_and_these_settings(pretraining_run, monkeypatch):
    loaded = kbert.load(pretraining_run.path)

    def fingerprint(model):
        return retrievers.VectorRetriever(model)._fingerprint()

    first = fingerprint(loaded)
    assert fingerprint(kbert.load(pretraining_run.path)) == first
    assert fingerprint(loaded.with_max_seq_length(9)) != first
    monkeypatch.setattr(retrievers, "__version__", "9.9")
    assert (changed := fingerprint(loaded)) != first
    weight = loaded.model.weights[0]
    weight.assign(weight + 1)
    assert fingerprint(loaded) not in (first, changed)


def test_a_cross_encoder_orders_the_first_texts():
    model = LetterVectors()
    first = retrievers.VectorRetriever(model)
    found = retrievers.RerankingRetriever(model, first).find(QUERIES, TEXTS, 6)
    before = first.find(QUERIES, TEXTS, 6)
    assert [sorted(row) for row in found.positions] == [sorted(row) for row in before.positions]
    for query, positions, scores in zip(QUERIES, found.positions, found.scores, strict=True):
        assert scores.tolist() == [-abs(len(query) - len(TEXTS[position])) for position in positions]
        assert scores.tolist() == sorted(scores, reverse=True)


def test_a_cross_encoder_is_asked_for_its_numbers_before_a_sigmoid():
    class Judge(LetterVectors):
        def rank(self, query, texts, raw_scores=False):
            scores = [float(len(text)) * 10 if raw_scores else 1.0 for text in texts]
            return [{"index": n, "score": score, "text": texts[n]} for n, score in enumerate(scores)]

    first = retrievers.VectorRetriever(LetterVectors())
    found = retrievers.RerankingRetriever(Judge(), first).find(QUERIES, TEXTS, 6)
    for positions in found.positions:
        lengths = [len(TEXTS[position]) for position in positions]
        assert lengths == sorted(lengths, reverse=True)


def test_bm25_finds_texts_with_rare_words_first():
    pytest.importorskip("bm25s")
    texts = ["the wing of a plane", "the wheel of a car", "the wing of a bird", "the sea"]
    found = retrievers.Bm25Retriever().find(["plane wing", "nothing known"], texts, 3)
    assert found.positions.tolist() == [[0, 2, -1], [-1, -1, -1]]
    assert (retrievers.Bm25Retriever().find(["a", ""], ["a", "b"], 3).positions == -1).all()  # no word


@pytest.mark.parametrize(
    ("texts", "query"),
    [
        (["今日は天気がいい。", "国際標準化に関する動向、Pythonで。"], "国際標準化"),
        (["今日は天気がいい。", "国際標準化に関する動向、Pythonで。"], "python"),
        (["ภาษาไทยง่าย", "ฉันรักแมวมาก"], "แมว"),
        (["犬 飼い方", "猫 飼い方"], "猫"),
        (["यह एक घर है", "हिन्दी मेरी भाषा"], "हिन्दी"),
        (["the tea", "the cafe\u0301"], "café"),  # one letter, and two
        (["the tea", "co\u00adoperation"], "cooperation"),  # a soft hyphen
    ],
)
def test_bm25_has_words_in_scripts_without_blanks_and_with_vowel_signs(texts, query, caplog):
    pytest.importorskip("bm25s")
    found = retrievers.Bm25Retriever().find([query], texts, 1)
    assert found.positions.tolist() == [[1]] and not caplog.messages
    retrievers.Bm25Retriever().find([query, "other"], texts, 1)
    assert caplog.messages == ["BM25: 1 of 2 queries share no word with any text."]


def test_signs_and_vowel_signs_alone_are_no_words():
    words = re.findall(WORD, with_blanks("စာ။ ငါ၊ ฿100 猫 a"))
    assert words == ["စာ", "ငါ", "100", "猫"]
    words = re.findall(WORD, with_blanks("물 끓는 (집) 책, እ ꆈ a é ።"))
    assert words == ["물", "끓는", "집", "책", "እ", "ꆈ"]  # words of one syllable


def test_bm25_is_that_of_its_package():
    bm25s = pytest.importorskip("bm25s")
    texts = [" ".join(RNG.choices(["ab", "cd", "ef", "gh", "ij"], k=6)) for _ in range(40)]
    queries, index = ["ab cd zz", "ef", "zz", "ab ab gh"], bm25s.BM25()
    index.index(bm25s.tokenize(texts, stopwords=None, show_progress=False), show_progress=False)
    words = bm25s.tokenize(queries, stopwords=None, show_progress=False)
    expected = index.retrieve(words, k=10, show_progress=False).scores
    found = retrievers.Bm25Retriever().find(queries, texts, 10).scores
    np.testing.assert_array_equal(np.where(np.isneginf(found), 0, found), expected)


def test_a_model_that_compares_no_texts_is_refused(finetuned_run, pretraining_run, monkeypatch):
    monkeypatch.setattr(LoadedModel, "_read_model", None)  # before its weights are read
    with pytest.raises(ValueError, match="the task sequence_classification, which compares no texts"):
        evaluation.make_retriever(finetuned_run.path)
    for run in (pretraining_run, pretraining_run.path):
        assert isinstance(evaluation.make_retriever(run), retrievers.VectorRetriever)
    with pytest.raises(ValueError, match="received a dict as the model; expected a path or name"):
        evaluation.make_retriever({})
    monkeypatch.undo()
    chosen = evaluation.as_loaded(pretraining_run.path, (None, (), 6))
    assert chosen.checkpoint.name == "step-00000006"
    with pytest.raises(ValueError, match="checkpoint=6 says how a model is loaded, but this one is taken"):
        evaluation.as_loaded(chosen, (None, (), 6))
    of_one_text = random_task_model(SequenceRegression(takes_pairs=False))
    with pytest.raises(ValueError, match="sequence_regression; rank takes one that gives a pair"):
        evaluation.make_retriever(of_one_text)


def test_a_folder_of_the_name_of_bm25_is_said(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    evaluation.make_retriever("bm25")
    assert not caplog.text
    (tmp_path / "bm25").mkdir()
    evaluation.make_retriever("bm25")
    assert "the folder of this name is ./bm25" in caplog.text


def test_what_a_retriever_has_no_use_for_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "as_loaded", lambda model, *_: LetterVectors())
    with pytest.raises(ValueError, match="retriever=other is for a cross-encoder"):
        evaluation.make_retriever("letters", "other")
    with pytest.raises(ValueError, match="checkpoint, do_lower_case and allow_unmatched are of a model"):
        evaluation.make_retriever("bm25", reading=(None, (), "best"))
    with pytest.raises(ValueError, match="vectors_dir=.* keeps vectors"):
        evaluation.make_retriever("bm25", vectors_dir=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        evaluation.make_retriever("letters", vectors_dir=tmp_path / "file")
