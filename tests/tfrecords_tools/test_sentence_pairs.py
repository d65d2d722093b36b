import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tfrecords_tools import reference_sampling
from tfrecords_tools.sentence_pairs import PairSampler, TokenizedCorpus


def corpus_of(documents) -> TokenizedCorpus:
    numbers = [number for number, document in enumerate(documents) for _ in document]
    sentences = [sentence for document in documents for sentence in document]
    pieces = [piece for sentence in sentences for piece in sentence]
    return TokenizedCorpus.from_lengths(np.array(pieces, np.int32), list(map(len, sentences)), numbers)


def random_documents(rng, num_documents, most_sentences=30, longest_sentence=40):
    """Documents whose pieces are all different, so that a piece tells where it comes from."""
    pieces = iter(range(10**9))
    return [
        [
            [next(pieces) for _ in range(rng.randint(1, longest_sentence))]
            for _ in range(rng.randint(1, most_sentences))
        ]
        for _ in range(num_documents)
    ]


def sampled(documents, max_seq_length, short_seq_prob, dupe_factor, seed):
    """(first, second, is_random_next) as lists of pieces."""
    corpus = corpus_of(documents)
    sampler = PairSampler(
        corpus, max_seq_length=max_seq_length, short_seq_prob=short_seq_prob, rng=random.Random(seed)
    )
    for a, a_end, b, b_end, is_random in sampler.pairs(dupe_factor):
        yield corpus.pieces[a:a_end].tolist(), corpus.pieces[b:b_end].tolist(), is_random


@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    num_documents=st.integers(2, 12),
    max_seq_length=st.integers(8, 80),
    short_seq_prob=st.sampled_from([0.0, 0.1, 1.0]),
    longest_sentence=st.sampled_from([1, 5, 60]),
)
def test_pairs_equal_the_reference_number_for_number(
    seed, num_documents, max_seq_length, short_seq_prob, longest_sentence
):
    documents = random_documents(random.Random(seed), num_documents, longest_sentence=longest_sentence)
    expected = reference_sampling.instances(
        documents, max_seq_length, short_seq_prob, dupe_factor=2, rng=random.Random(seed)
    )
    received = list(sampled(documents, max_seq_length, short_seq_prob, 2, seed))
    assert received == [(pair.first, pair.second, pair.is_random_next) for pair in expected]


def test_texts_fit_and_real_next_texts_follow_within_their_document():
    documents = random_documents(random.Random(3), 20)
    document_of = {
        piece: number
        for number, document in enumerate(documents)
        for sentence in document
        for piece in sentence
    }
    num_random = num_pairs = 0
    for first, second, is_random in sampled(documents, 64, 0.1, 20, seed=3):
        assert first and second and len(first) + len(second) + 3 <= 64
        assert first == list(range(first[0], first[-1] + 1)), "a text is a run of pieces"
        assert second == list(range(second[0], second[-1] + 1))
        if is_random:
            assert document_of[first[0]] != document_of[second[0]]
        else:
            assert document_of[first[0]] == document_of[second[0]] and first[-1] < second[0]
        num_pairs += 1
        num_random += is_random
    assert 0.5 < num_random / num_pairs < 0.75  # one-sentence chunks are always random


def test_every_piece_of_the_corpus_is_reached():
    documents = random_documents(random.Random(4), 10, most_sentences=8, longest_sentence=6)
    everything = {piece for document in documents for sentence in document for piece in sentence}
    seen = set()
    for first, second, _ in sampled(documents, 64, 0.1, 20, seed=4):
        seen.update(first, second)
    assert seen == everything


def test_texts_are_cut_at_both_ends():
    documents = [[list(range(500))], [list(range(500, 1000))]]
    firsts = {tuple(first) for first, _, _ in sampled(documents, 64, 0.0, 5, seed=0)}
    assert all(0 < first[0] % 500 and first[-1] % 500 < 499 for first in firsts)
    # Each cut takes the front or the back with even odds, so about half of the 470 lost are in front.
    assert all(170 < first[0] % 500 < 300 for first in firsts)


def test_sentences_and_documents_without_pieces_are_dropped():
    corpus = TokenizedCorpus.from_lengths(np.arange(6), [0, 2, 0, 0, 3, 1], [0, 0, 1, 1, 2, 2])
    assert corpus.sentence_starts.tolist() == [0, 2, 5, 6]
    assert corpus.document_starts.tolist() == [0, 1, 3]
    assert (corpus.num_documents, corpus.num_sentences) == (2, 3)


def test_take_gives_the_pieces_of_many_texts():
    corpus = TokenizedCorpus.from_lengths(np.arange(10, 20, dtype=np.uint16), [5, 5], [0, 1])
    flat, lengths = corpus.take(np.array([3, 0, 9]), np.array([6, 1, 10]))
    assert flat.tolist() == [13, 14, 15, 10, 19] and lengths.tolist() == [3, 1, 1]
    assert flat.dtype == np.int32


@pytest.mark.parametrize(("num_documents", "words"), [(0, "0 documents"), (1, "1 document,")])
def test_a_single_document_is_refused_with_the_remedy(num_documents, words):
    documents = random_documents(random.Random(0), num_documents)
    with pytest.raises(ValueError, match=rf"the input holds {words}.*put a blank line between documents"):
        list(sampled(documents, 64, 0.1, 1, seed=0))
