import math
import random

import numpy as np
import pytest

from tests.tfrecords_tools import reference_sampling, small_corpus
from tfrecords_tools.masking import PieceMasker

VOCABULARY = small_corpus.vocabulary()
CONTINUING = frozenset(i for i, token in enumerate(VOCABULARY.tokens) if token.startswith("##"))
WORD_IDS = range(5, len(VOCABULARY))


def masker(whole_words=False, max_predictions=20, prob=0.15):
    return PieceMasker(
        VOCABULARY,
        max_predictions_per_seq=max_predictions,
        masked_lm_prob=prob,
        do_whole_word_mask=whole_words,
    )


def random_batch(batch, longest, seed=0):
    """input_ids (B, L) of [CLS] a [SEP] b [SEP] padding, and their lengths (B,)."""
    rng = random.Random(seed)
    input_ids, lengths = np.zeros((batch, longest), np.int32), []
    for row in input_ids:
        length = rng.randint(5, longest)
        row[:length] = [rng.choice(WORD_IDS) for _ in range(length)]
        row[0] = VOCABULARY.cls_id
        row[rng.randint(2, length - 3)] = row[length - 1] = VOCABULARY.sep_id
        lengths.append(length)
    return input_ids, np.array(lengths)


def words_of(row, length):
    """The reference's groups: lists of places."""
    groups = []
    for place in range(length):
        if row[place] in (VOCABULARY.cls_id, VOCABULARY.sep_id):
            continue
        if groups and row[place] in CONTINUING:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def binomial_bounds(share, count):
    """Five standard errors: a right masker fails once in a million, a wrong share of 2 points always."""
    error = 5 * math.sqrt(share * (1 - share) / count)
    return share - error, share + error


@pytest.mark.parametrize("whole_words", [False, True])
def test_answers_restore_the_unmasked_sequence(whole_words):
    input_ids, lengths = random_batch(300, 60)
    before = input_ids.copy()
    masked = masker(whole_words)(input_ids, lengths, np.random.default_rng(1))
    assert (input_ids == before).all(), "the input is left as it was"

    restored = masked.input_ids.copy()
    rows, slots = np.nonzero(masked.weights)
    restored[rows, masked.positions[rows, slots]] = masked.answers[rows, slots]
    assert (restored == input_ids).all()


@pytest.mark.parametrize("whole_words", [False, True])
def test_positions_are_sorted_inside_the_text_and_never_special(whole_words):
    input_ids, lengths = random_batch(300, 60, seed=2)
    masked = masker(whole_words)(input_ids, lengths, np.random.default_rng(2))
    for row, length, positions, answers, weights in zip(
        input_ids, lengths, masked.positions, masked.answers, masked.weights, strict=True
    ):
        count = int(weights.sum())
        assert weights[:count].all() and not weights[count:].any()
        assert not positions[count:].any() and not answers[count:].any()
        assert (np.diff(positions[:count]) > 0).all() and (positions[:count] < length).all()
        assert not np.isin(row[positions[:count]], [VOCABULARY.cls_id, VOCABULARY.sep_id]).any()


def test_the_count_is_pythons_round_of_the_whole_length():
    lengths = np.arange(5, 513)
    for prob, most in ((0.15, 20), (0.5, 400), (0.15, 77), (0.25, 1)):
        expected = [min(most, max(1, int(round(length * prob)))) for length in lengths.tolist()]
        assert masker(max_predictions=most, prob=prob).num_to_predict(lengths).tolist() == expected
    # Halves go to the even neighbour: 5 x .5 = 2.5 -> 2, 7 x .5 = 3.5 -> 4.
    assert masker(prob=0.5).num_to_predict([5, 7]).tolist() == [2, 4]


def test_without_whole_words_the_count_is_always_reached():
    input_ids, lengths = random_batch(300, 60, seed=3)
    chooser = masker()
    masked = chooser(input_ids, lengths, np.random.default_rng(3))
    assert masked.weights.sum(axis=1).tolist() == chooser.num_to_predict(lengths).tolist()


def test_whole_words_are_masked_together_and_never_above_the_count():
    input_ids, lengths = random_batch(300, 60, seed=4)
    chooser = masker(whole_words=True)
    masked = chooser(input_ids, lengths, np.random.default_rng(4))
    counts = masked.weights.sum(axis=1)
    assert (counts <= chooser.num_to_predict(lengths)).all()
    for row, length, positions, count in zip(input_ids, lengths, masked.positions, counts, strict=True):
        chosen = set(positions[: int(count)].tolist())
        left = int(chooser.num_to_predict(length) - count)
        for word in words_of(row, length):
            assert chosen.issuperset(word) or chosen.isdisjoint(word)
            # What is passed over did not fit.
            assert chosen.issuperset(word) or len(word) > left


def test_a_piece_that_continues_a_cut_word_joins_the_word_before_the_separator():
    play, ing = VOCABULARY.ids["play"], VOCABULARY.ids["##ing"]
    row = [VOCABULARY.cls_id, ing, VOCABULARY.sep_id, ing, play, VOCABULARY.sep_id]
    input_ids = np.array([row] * 200, np.int32)
    masked = masker(whole_words=True, prob=0.34)(input_ids, np.full(200, 6), np.random.default_rng(5))
    chosen = {tuple(p[w > 0].tolist()) for p, w in zip(masked.positions, masked.weights, strict=True)}
    assert chosen == {(1, 3), (4,)}


@pytest.mark.parametrize("whole_words", [False, True])
def test_fates_are_80_10_10_piece_by_piece(whole_words):
    input_ids, lengths = random_batch(4000, 60, seed=6)
    masked = masker(whole_words)(input_ids, lengths, np.random.default_rng(6))
    rows, slots = np.nonzero(masked.weights)
    shown = masked.input_ids[rows, masked.positions[rows, slots]]
    answers = masked.answers[rows, slots]
    size = len(VOCABULARY)
    # A random piece is by chance [MASK], or the piece that stood there, once in `size` draws each.
    by_chance = 0.1 / size
    for share, expected in (
        (np.mean(shown == VOCABULARY.mask_id), 0.8 + by_chance),
        (np.mean(shown == answers), 0.1 + by_chance),
        (np.mean((shown != answers) & (shown != VOCABULARY.mask_id)), 0.1 - 2 * by_chance),
    ):
        low, high = binomial_bounds(expected, len(rows))
        assert low < share < high
    if whole_words:
        # Words are chosen whole, but the pieces of one word have fates of their own.
        same_word = (rows[1:] == rows[:-1]) & np.isin(answers[1:], list(CONTINUING))
        both = np.mean(
            (shown[1:] == VOCABULARY.mask_id)[same_word] & (shown[:-1] == VOCABULARY.mask_id)[same_word]
        )
        assert 0.55 < both < 0.73


def test_replacements_come_from_the_whole_vocabulary_special_tokens_included():
    input_ids, lengths = random_batch(4000, 60, seed=7)
    masked = masker()(input_ids, lengths, np.random.default_rng(7))
    rows, slots = np.nonzero(masked.weights)
    shown = masked.input_ids[rows, masked.positions[rows, slots]]
    answers = masked.answers[rows, slots]
    random_pieces = shown[(shown != answers) & (shown != VOCABULARY.mask_id)]
    frequencies = np.bincount(random_pieces, minlength=len(VOCABULARY)) / len(random_pieces)
    for index, frequency in enumerate(frequencies):
        if index != VOCABULARY.mask_id:
            assert 0.6 / len(VOCABULARY) < frequency < 1.4 / len(VOCABULARY), VOCABULARY.tokens[index]


@pytest.mark.parametrize("whole_words", [False, True])
def test_every_place_is_chosen_as_often_as_by_the_reference(whole_words):
    draws = 6000
    row, lengths = random_batch(1, 24, seed=8)
    length = int(lengths[0])
    masked = masker(whole_words)(
        np.repeat(row, draws, axis=0), np.repeat(lengths, draws), np.random.default_rng(8)
    )
    received = np.bincount(masked.positions[masked.weights > 0], minlength=length) / draws

    settings = reference_sampling.Masking(
        VOCABULARY.cls_id,
        VOCABULARY.sep_id,
        VOCABULARY.mask_id,
        len(VOCABULARY),
        CONTINUING if whole_words else frozenset(),
    )
    rng, counts = random.Random(8), np.zeros(length)
    for _ in range(draws):
        counts[reference_sampling.mask(row[0, :length].tolist(), settings, rng)["positions"]] += 1
    # Five standard errors of a difference of two shares.
    assert np.abs(received - counts / draws).max() < 5 * math.sqrt(2 * 0.25 / draws)


def test_the_same_generator_state_gives_the_same_masks():
    input_ids, lengths = random_batch(50, 40)
    first, again, other = (
        masker()(input_ids, lengths, np.random.default_rng(seed)).input_ids.tolist() for seed in (1, 1, 2)
    )
    assert first == again != other
