"""The text of the Python that runs this: clean, enough, and split without leaks."""

import re

import pytest

from tfrecords_tools.corpus.embedded_text import (
    AREAS,
    documents,
    labelled_rows,
    split_documents,
    standard_library_folder,
)
from tfrecords_tools.corpus.embedded_text.areas import area_of_module
from tfrecords_tools.corpus.embedded_text.sentences import split_sentences

pytestmark = pytest.mark.slow  # the whole library is read


@pytest.fixture(scope="module")
def real_documents():
    return documents(standard_library_folder())


@pytest.fixture(scope="module")
def real_rows(real_documents):
    return labelled_rows(real_documents)


@pytest.mark.long
def test_no_markup_is_left(real_documents):
    markup = re.compile(r"::|:\w+:`|`|>>>|\*\w|[{}|\\]|https?://|\s\s|\t|^\s|\s$")
    left = [s for d in real_documents for s in d.sentences if markup.search(s)]
    assert left == []


def test_there_is_enough_text_and_no_sentence_twice(real_documents):
    sentences = [sentence for d in real_documents for sentence in d.sentences]
    assert len(set(sentences)) == len(sentences) > 15_000
    assert sum(map(len, sentences)) > 1_200_000
    assert all(len(document.sentences) >= 2 for document in real_documents)


def test_heldout_shares_no_source_and_no_sentence_with_train(real_documents):
    train, heldout = split_documents(real_documents)
    assert {d.source for d in train}.isdisjoint(d.source for d in heldout)
    train_sentences = {s for d in train for s in d.sentences}
    heldout_sentences = {s for d in heldout for s in d.sentences}
    assert train_sentences.isdisjoint(heldout_sentences)
    share = len(heldout_sentences) / (len(train_sentences) + len(heldout_sentences))
    assert 0.03 < share <= 0.05
    assert len({d.source for d in heldout}) > 10


def test_labelled_splits_share_no_module_and_no_sentence(real_rows):
    modules = [{row.module for row in rows} for rows in real_rows.values()]
    sentences = [
        {sentence for row in rows for sentence in split_sentences(row.text)} for rows in real_rows.values()
    ]
    for first, second in [(0, 1), (0, 2), (1, 2)]:
        assert modules[first].isdisjoint(modules[second])
        assert sentences[first].isdisjoint(sentences[second])


def test_every_label_is_in_every_split(real_rows):
    for rows in real_rows.values():
        counts = [sum(row.label == label for row in rows) for label in AREAS]
        assert min(counts) >= 10
        assert max(counts) <= 0.25 * len(rows)


def test_every_row_has_the_label_of_its_module(real_rows):
    for split, rows in real_rows.items():
        for row in rows:
            assert area_of_module(row.module) == (row.label, split)
            assert "\t" not in row.text
