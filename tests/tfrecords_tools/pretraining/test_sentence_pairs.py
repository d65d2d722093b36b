import random
from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tfrecords_tools.pretraining import reference_sampling
from tfrecords_tools.corpus.tokenized_corpus import TokenizedCorpus
from tfrecords_tools.pretraining.sentence_pairs import PairSampler, truncate_pairs


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


def texts_of(corpus, pairs):
    """(first, second, label) as lists of pieces."""
    return [
        (corpus.pieces[a:a_end].tolist(), corpus.pieces[b:b_end].tolist(), label)
        for a, a_end, b, b_end, label in pairs.tolist()
    ]


def sampled(documents, max_seq_length, short_seq_prob, dupe_factor, seed, sentence_order=False):
    corpus = corpus_of(documents)
    sampler = PairSampler(
        corpus,
        room=max_seq_length - 3,
        short_seq_prob=short_seq_prob,
        rng=random.Random(seed),
        sentence_order=sentence_order,
    )
    pairs = sampler.pairs(list(range(len(documents))) * dupe_factor)
    return texts_of(corpus, truncate_pairs(pairs, max_seq_length - 3, np.random.default_rng(seed)))


@settings(max_examples=150)
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
    rng = reference_sampling.FastRandom(seed)
    expected = [
        (pair.first, pair.second, int(pair.is_random_next))
        for index in range(num_documents)
        for pair in reference_sampling.from_document(
            documents, index, max_seq_length, short_seq_prob, rng, truncates=False
        )
    ]
    corpus = corpus_of(documents)
    sampler = PairSampler(
        corpus, room=max_seq_length - 3, short_seq_prob=short_seq_prob, rng=random.Random(seed)
    )
    assert texts_of(corpus, sampler.pairs(range(num_documents))) == expected


@settings(max_examples=200)
@given(first=st.integers(1, 200), second=st.integers(1, 200), room=st.integers(2, 150))
def test_truncation_leaves_the_lengths_of_the_original_loop(first, second, room):
    pairs = np.array([[10, 10 + first, 500, 500 + second, 1]])
    ((a, a_end, b, b_end, label),) = truncate_pairs(pairs, room, np.random.default_rng(first)).tolist()
    while first + second > room:  # create_pretraining_data.py, truncate_seq_pair
        if first > second:
            first -= 1
        else:
            second -= 1
    assert (a_end - a, b_end - b, label) == (first, second, 1)
    assert 10 <= a and a_end <= pairs[0, 1] and 500 <= b and b_end <= pairs[0, 3]


def test_truncation_takes_from_the_front_as_often_as_tossed_coins_do():
    # 3 pieces are lost from the first text: 0, 1, 2, 3 of them in front with odds 1 : 3 : 3 : 1.
    pairs = np.tile([0, 20, 100, 110, 0], (80_000, 1))
    fronts = np.bincount(truncate_pairs(pairs, 27, np.random.default_rng(0))[:, 0], minlength=4)
    expected = np.array([1, 3, 3, 1]) * 10_000
    assert len(fronts) == 4
    # Chi-square with 3 degrees of freedom: 40 is passed once in a hundred million times.
    assert ((fronts - expected) ** 2 / expected).sum() < 40


def place_of_pieces(documents):
    return {
        piece: number
        for number, document in enumerate(documents)
        for sentence in document
        for piece in sentence
    }


def test_sentence_order_swaps_half_of_the_chunks_of_two_and_more():
    documents = random_documents(random.Random(5), 40, longest_sentence=8)
    document_of = place_of_pieces(documents)
    swapped = Counter()
    for first, second, label in sampled(documents, 64, 0.1, 20, seed=5, sentence_order=True):
        if document_of[first[0]] != document_of[second[0]]:
            assert label == 1, "a chunk of one sentence is joined by a random text, as in ALBERT"
            swapped["random"] += 1
            continue
        assert (first[0] > second[-1]) == bool(label)
        swapped[label] += 1
    chunks = swapped[0] + swapped[1]
    assert chunks > 5 * swapped["random"] > 0
    assert abs(swapped[1] - chunks / 2) < 5 * (chunks / 4) ** 0.5


def test_a_sentence_of_a_million_pieces_takes_no_time():
    documents = [[list(range(1_000_000))], [[1_000_000]]]
    ((first, second, is_random), _) = sampled(documents, 64, 0.0, 1, seed=0)
    assert is_random and len(first) == 60 and second == [1_000_000]
