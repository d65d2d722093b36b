"""Windows of tagged sentences: no word lost, each labelled once; context of the own document alone."""

import functools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.tasks.token_classification.sentence_rows import IGNORED_LABEL
from kbert.tasks.token_classification.tagged_sentences import (
    Document,
    TaggedSentence,
    read_tagged_sentences,
)
from kbert.tasks.token_classification.token_classification import TokenClassification
from kbert.tokenization.text_inputs import TextInputs
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.wordpiece_tokenizer import WordPieceTokenizer
from tests.places import SHARED_DATA
from tests.tfrecords_tools import small_corpus

LABELS = ("O", "B-X", "I-X")
VOCABULARY = small_corpus.vocabulary()
text_inputs = functools.cache(functools.partial(TextInputs, VOCABULARY))  # made once for each length
# One piece, two, three, several for [UNK] and marks, none at all.
WORDS = st.sampled_from(["jump", "walked", "turning", "asks.the", "Zz", "\u200b", " ", "a"])
SENTENCES = st.lists(st.lists(WORDS, min_size=1, max_size=30).map(tuple), min_size=1, max_size=5)


def to_examples(documents):
    """Tagged sentences; the labels go round."""
    return [
        TaggedSentence(
            words, document, place, tuple(LABELS[(place + index) % 3] for index in range(len(words)))
        )
        for document in documents
        for place, words in enumerate(document.sentences)
    ]


def pieces_of(words):
    """The reference: each word by itself, [UNK] for none."""
    rows = WordPieceTokenizer(VOCABULARY)(tf.constant(words, tf.string)).to_list()
    return [row or [VOCABULARY.unk_id] for row in rows]


def labelled(features, owners, number):
    """{(example, word): (row, position)} of all labelled places, each at most once."""
    found = {}
    for row, position in np.argwhere(features["label_ids"] >= 0).tolist():
        key = int(owners[row]), int(features["word_ids"][row, position])
        assert key not in found
        found[key] = row, position
    np.testing.assert_array_equal(features["word_ids"] < 0, features["label_ids"] == IGNORED_LABEL)
    return found


@pytest.mark.slow
@settings(max_examples=12)
@given(
    sentences=SENTENCES,
    length=st.integers(4, 20),
    doc_stride=st.none() | st.integers(1, 2),
    document_context=st.booleans(),
)
def test_every_word_is_labelled_once_at_its_first_piece(sentences, length, doc_stride, document_context):
    examples = to_examples([Document(sentences)])
    task = TokenClassification(LABELS, document_context=document_context, doc_stride=doc_stride)
    features, owners = task.examples_to_features(examples, text_inputs(length))
    found = labelled(features, owners, len(examples))
    for number, example in enumerate(examples):
        for index, (pieces, label) in enumerate(zip(pieces_of(example.words), example.labels, strict=True)):
            row, position = found.pop((number, index))
            assert features["input_ids"][row, position] == pieces[0]
            assert features["label_ids"][row, position] == LABELS.index(label)
    assert not found and (np.diff(owners) >= 0).all()
    assert features["input_mask"].sum(axis=1).max() <= length


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=60)
@given(documents=st.lists(SENTENCES, min_size=1, max_size=3), length=st.integers(4, 24))
def test_context_is_that_of_the_document_and_as_much_as_there_is_room(documents, length):
    documents = [Document(sentences) for sentences in documents]
    examples = to_examples(documents)
    task = TokenClassification(LABELS, document_context=True)
    features, owners = task.examples_to_features(examples, text_inputs(length))
    room = length - 2
    for number, example in enumerate(examples):
        before, own, after = (
            [piece for words in sentences for pieces in pieces_of(words) for piece in pieces]
            for sentences in (
                example.document.sentences[: example.position],
                [example.words],
                example.document.sentences[example.position + 1 :],
            )
        )
        (rows,) = np.nonzero(owners == number)
        if len(own) > room:
            assert len(rows) > 1
            continue
        (row,) = rows
        size = int(features["input_mask"][row].sum()) - 2
        assert size == min(room, len(before) + len(own) + len(after))
        window = features["input_ids"][row, 1 : 1 + size].tolist()
        start = int(np.flatnonzero(features["label_ids"][row] >= 0)[0]) - 1
        assert window == (before[len(before) - start :] + own + after)[:size]
        left, right = start, size - start - len(own)
        # The sides are alike, but where one has no more.
        assert abs(left - right) <= 1 or left == len(before) or right == len(after)


def test_documents_without_context_are_told_once(caplog):
    warn_once.cache_clear()
    task = TokenClassification(LABELS, document_context=True)
    for _ in range(2):  # batches of records
        task.examples_to_features(to_examples([Document([["ab"]])]), text_inputs(8))
    assert caplog.text.count("no document has a second sentence") == 1


@pytest.mark.slow
@pytest.mark.skipif(not SHARED_DATA.is_dir(), reason=f"{SHARED_DATA} is not there")
@pytest.mark.parametrize(
    ("length", "document_context"), [(24, False), pytest.param(128, True, marks=pytest.mark.long)]
)
def test_no_word_of_conll_2003_is_lost(length, document_context):
    vocabulary = Vocabulary.from_file(SHARED_DATA / "vocab" / "bert_cased" / "vocab.txt", do_lower_case=False)
    examples = list(read_tagged_sentences(SHARED_DATA / "conll2003" / "eng.testa", DatasetConfig()))
    dataset = TokenClassification.files.complete_dataset(DatasetConfig(), examples)
    task = TokenClassification(dataset.labels, document_context=document_context)
    features, owners = task.examples_to_features(examples, TextInputs(vocabulary, length))
    found = labelled(features, owners, len(examples))
    assert len(found) == sum(len(example.words) for example in examples) == 27_752
    true = [dataset.labels[features["label_ids"][place]] for _, place in sorted(found.items())]
    assert true == [label for example in examples for label in example.labels]
