import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tfrecords_tools.pretraining.test_sentence_pairs import corpus_of, random_documents
from tfrecords_tools.pretraining.sampling_stage import pack_full_sentences

SEP = 999_999


def packed(documents, max_seq_length, order=None):
    order = range(len(documents)) if order is None else order
    pieces, lengths = pack_full_sentences(corpus_of(documents), order, room=max_seq_length - 2, sep_id=SEP)
    ends = np.cumsum(lengths)
    return [pieces[end - length : end].tolist() for length, end in zip(lengths, ends, strict=True)]


def test_sentences_fill_a_text_over_the_ends_of_documents():
    documents = [[[0, 1, 2], [3, 4]], [[5, 6], [7, 8, 9, 10]]]
    assert packed(documents, 12) == [[0, 1, 2, 3, 4, SEP, 5, 6], [7, 8, 9, 10]]
    assert packed(documents, 12, order=[1, 0]) == [[5, 6, 7, 8, 9, 10, SEP, 0, 1, 2], [3, 4]]


def test_a_separator_that_nothing_follows_is_left_out():
    assert packed([[[0, 1]], [[2, 3, 4]], [[5]]], 6) == [[0, 1], [2, 3, 4], [5]]


def test_a_sentence_longer_than_a_sequence_is_cut_and_goes_on():
    assert packed([[[0], list(range(1, 12)), [12]]], 6) == [[0], [1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]


@settings(max_examples=100)
@given(seed=st.integers(0, 2**32), num_documents=st.integers(1, 12), max_seq_length=st.integers(4, 80))
def test_every_piece_comes_once_in_order_and_every_text_fits(seed, num_documents, max_seq_length):
    documents = random_documents(random.Random(seed), num_documents, most_sentences=8, longest_sentence=30)
    texts = packed(documents, max_seq_length)
    assert all(0 < len(text) <= max_seq_length - 2 for text in texts)
    assert all(text[0] != SEP and text[-1] != SEP for text in texts)
    pieces = [piece for text in texts for piece in text if piece != SEP]
    assert pieces == [piece for document in documents for sentence in document for piece in sentence]
    sentence_of = {
        piece: tuple(sentence) for document in documents for sentence in document for piece in sentence
    }
    for text, following in zip(texts, texts[1:], strict=False):
        # The next sentence did not fit; one that is longer than a text began a text of its own.
        sentence = sentence_of[following[0]]
        if following[0] == sentence[0]:
            assert (
                len(text) + len(sentence) > max_seq_length - 2
                or len(sentence) > max_seq_length - 2
                or (len(text) + 1 >= max_seq_length - 2)
                or len(text) + 1 + len(sentence) > max_seq_length - 2
            )
