"""Masks by their invariants, and by their distributions against the plain reference."""

import itertools
import random

import numpy as np
import pytest

from kbert.input_pipelines.masking import PieceMasker
from kbert.tokenization.base_vocabulary import ROBERTA_TOKENS
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary
from tests.chi_square import SIGNIFICANCE, goodness_of_fit
from tests.kbert.input_pipelines import reference_masking
from tests.naming import naming
from tests.tfrecords_tools import small_corpus

VOCABULARY = small_corpus.vocabulary()
CLS, SEP, MASK = VOCABULARY.cls_id, VOCABULARY.sep_id, VOCABULARY.mask_id
CONTINUING = frozenset(i for i, token in enumerate(VOCABULARY.tokens) if token.startswith("##"))
WORD_IDS = range(5, len(VOCABULARY))
ALL_KINDS = pytest.mark.parametrize(
    ("whole_words", "max_ngram_size"), [(False, 1), (True, 1), (False, 3), (True, 3)]
)


def masker(whole_words=False, max_ngram_size=1, max_predictions=20, prob=0.15):
    return PieceMasker(
        VOCABULARY,
        max_predictions_per_seq=max_predictions,
        masked_lm_prob=prob,
        do_whole_word_mask=whole_words,
        max_ngram_size=max_ngram_size,
    )


def random_batch(batch, longest, seed=0):
    """input_ids (B, L) of [CLS] a [SEP] b [SEP] padding, and their lengths (B,)."""
    rng = random.Random(seed)
    input_ids, lengths = np.zeros((batch, longest), np.int32), []
    for row in input_ids:
        length = rng.randint(5, longest)
        row[:length] = [rng.choice(WORD_IDS) for _ in range(length)]
        row[0] = CLS
        row[rng.randint(2, length - 3)] = row[length - 1] = SEP
        lengths.append(length)
    return input_ids, np.array(lengths)


def groups_of(row, length, whole_words):
    return reference_masking.groups_of(row, length, (CLS, SEP), CONTINUING if whole_words else frozenset())


def choices(row, draws, whole_words=False, max_ngram_size=1, seed=0, **settings):
    """The chosen places of `draws` choices for one row, as tuples."""
    row = np.array(row, np.int32)
    masked = masker(whole_words, max_ngram_size, **settings)(
        np.tile(row, (draws, 1)), np.full(draws, len(row)), np.random.default_rng(seed)
    )
    counts = masked.weights.sum(axis=1).astype(int).tolist()
    return [tuple(p[:n]) for p, n in zip(masked.positions.tolist(), counts, strict=True)]


# ------------------------------------------------------------------------------------ what always holds


@ALL_KINDS
def test_answers_restore_the_unmasked_sequence(whole_words, max_ngram_size):
    input_ids, lengths = random_batch(300, 60)
    before = input_ids.copy()
    masked = masker(whole_words, max_ngram_size)(input_ids, lengths, np.random.default_rng(1))
    assert (input_ids == before).all(), "the input is left as it was"

    restored = masked.input_ids.copy()
    rows, slots = np.nonzero(masked.weights)
    restored[rows, masked.positions[rows, slots]] = masked.answers[rows, slots]
    assert (restored == input_ids).all()
    assert (masked.input_ids != input_ids).any(axis=1).mean() > 0.8


@ALL_KINDS
def test_positions_are_sorted_inside_the_text_and_never_special(whole_words, max_ngram_size):
    input_ids, lengths = random_batch(300, 60, seed=2)
    masked = masker(whole_words, max_ngram_size)(input_ids, lengths, np.random.default_rng(2))
    assert [array.dtype for array in masked] == [np.int32, np.int32, np.int32, np.float32]
    assert [array.shape for array in masked] == [(300, 60), (300, 20), (300, 20), (300, 20)]
    for row, length, positions, answers, weights in zip(
        input_ids, lengths, masked.positions, masked.answers, masked.weights, strict=True
    ):
        count = int(weights.sum())
        assert weights[:count].all() and not weights[count:].any()
        assert not positions[count:].any() and not answers[count:].any()
        assert (np.diff(positions[:count]) > 0).all() and (positions[:count] < length).all()
        assert not np.isin(row[positions[:count]], [CLS, SEP]).any()


def test_the_count_is_pythons_round_of_the_whole_length():
    lengths = np.arange(5, 513)
    for prob, most in ((0.15, 20), (0.5, 400), (0.15, 77), (0.25, 1)):
        expected = [reference_masking.number_to_predict(length, prob, most) for length in lengths.tolist()]
        assert masker(max_predictions=most, prob=prob).num_to_predict(lengths).tolist() == expected
    # Halves go to the even neighbour: 5 x .5 = 2.5 -> 2, 7 x .5 = 3.5 -> 4.
    assert masker(prob=0.5).num_to_predict([5, 7]).tolist() == [2, 4]
    assert masker(prob=0.05).num_to_predict([5, 9]).tolist() == [1, 1], "at least one"


def test_more_predictions_than_places_take_all_places():
    row = [CLS, 7, 8, SEP, 9, SEP]
    for kind in ((False, 1), (True, 1)):
        assert set(choices(row, 50, *kind, prob=0.9, max_predictions=50)) == {(1, 2, 4)}


@pytest.mark.parametrize("max_ngram_size", [1, 3])
def test_the_first_word_of_a_text_of_byte_level_bpe_is_a_word_of_its_own(max_ngram_size):
    """Without a blank before it, it has no mark; the piece before the separators is not its beginning."""
    tokens = (*BYTE_CHARACTERS, *ROBERTA_TOKENS)
    vocabulary = BytePairVocabulary(tokens, [])
    settings = {"masked_lm_prob": 0.25, "max_predictions_per_seq": 2, "do_whole_word_mask": True}
    masker = PieceMasker(vocabulary, max_ngram_size=max_ngram_size, **settings)
    row = [vocabulary.ids[token] for token in ("<s>", "a", "b", "</s>", "</s>", "c", "d", "</s>")]
    masked = masker(np.tile(np.array(row, np.int32), (50, 1)), np.full(50, 8), np.random.default_rng(0))
    assert set(map(tuple, masked.positions.tolist())) == {(1, 2), (5, 6)}


def test_an_empty_batch_and_rows_of_only_special_tokens_are_masked_nowhere():
    for kind in ((False, 1), (True, 1), (True, 3)):
        empty = masker(*kind)(np.zeros((0, 9), np.int32), np.zeros(0, int), np.random.default_rng(0))
        assert [array.shape for array in empty] == [(0, 9), (0, 20), (0, 20), (0, 20)]
        assert set(choices([CLS, SEP, SEP], 5, *kind)) == {()}


# ----------------------------------------------------------------------------------- fates of the pieces


def fates(whole_words, max_ngram_size, seed):
    """(counts of [MASK], kept, another piece; counts of the other pieces by id) of about 30,000 places."""
    input_ids, lengths = random_batch(4000, 60, seed)
    masked = masker(whole_words, max_ngram_size)(input_ids, lengths, np.random.default_rng(seed))
    rows, slots = np.nonzero(masked.weights)
    shown = masked.input_ids[rows, masked.positions[rows, slots]]
    answers = masked.answers[rows, slots]
    is_other = (shown != answers) & (shown != MASK)
    counts = [np.sum(shown == MASK), np.sum(shown == answers), np.sum(is_other)]
    return counts, shown[is_other], answers[is_other]


@pytest.mark.parametrize(("whole_words", "max_ngram_size"), [(False, 1)])
def test_fates_are_80_10_10(whole_words, max_ngram_size):
    counts, _, _ = fates(whole_words, max_ngram_size, seed=6)
    # A random piece is by chance [MASK], or the piece that stood there, once in `size` draws each.
    by_chance = 0.1 / len(VOCABULARY)
    assert goodness_of_fit(counts, [0.8 + by_chance, 0.1 + by_chance, 0.1 - 2 * by_chance]) > SIGNIFICANCE
    # What the test would find: a share off by 2 points.
    assert goodness_of_fit(counts, [0.78, 0.11, 0.11]) < SIGNIFICANCE


@pytest.mark.parametrize(("whole_words", "max_ngram_size"), [(True, 3)])
def test_replacements_come_from_the_whole_vocabulary_special_tokens_included(whole_words, max_ngram_size):
    _, shown, answers = fates(whole_words, max_ngram_size, seed=7)
    counts = np.bincount(shown, minlength=len(VOCABULARY))
    # Every id but [MASK] and the answer itself, all alike.
    stood = np.bincount(answers, minlength=len(VOCABULARY)) / len(answers)
    chance = (1 - stood) / (len(VOCABULARY) - 2)
    real = np.arange(len(VOCABULARY)) != MASK
    chance[~real] = 0
    assert goodness_of_fit(counts[real], chance[real] / chance.sum()) > SIGNIFICANCE
    assert counts[[CLS, SEP, VOCABULARY.pad_id, VOCABULARY.unk_id]].all()


# ------------------------------------------------------------------------------------- choice of places


SMALL_ROWS = {
    "one word of two pieces": "play walk ##s / talk a",
    "a cut word": "##s play / ##ed the a",
    "two segments": "a the / play walk jump",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", SMALL_ROWS.values(), ids=SMALL_ROWS)
def test_every_choice_is_as_likely_as_the_rules_say(text):
    """The exact probability of each set of places, from all orders and lengths."""
    for case in itertools.product([False, True], [1, 3], [1, 3]):
        with naming(case):
            require_likely_choices(text, *case)


def require_likely_choices(text, whole_words, max_ngram_size, number):
    first, second = text.split(" / ")
    ids = VOCABULARY.ids
    row = [CLS, *map(ids.get, first.split()), SEP, *map(ids.get, second.split()), SEP]
    groups = groups_of(row, len(row), whole_words)
    if len(groups) > 5:  # all orders and lengths are gone through
        groups, row = groups[:5], row[: groups[4][-1] + 1]
    prob = (number + 0.1) / len(row)
    assert reference_masking.number_to_predict(len(row), prob, 20) == number
    expected = reference_masking.distribution(groups, number, max_ngram_size)

    chosen = choices(row, 4000, whole_words, max_ngram_size, seed=number, prob=prob)
    assert set(chosen) <= set(expected)
    # Rare sets together with the most frequent one, so that the test holds.
    sets = sorted(expected, key=expected.get)
    counts = {places: chosen.count(places) for places in sets}
    rare = [places for places in sets[:-1] if expected[places] * 4000 < 5]
    for places in rare:
        expected[sets[-1]] += expected.pop(places)
        counts[sets[-1]] += counts.pop(places)
    if len(expected) > 1:
        p = goodness_of_fit(list(counts.values()), [expected[places] for places in counts])
        assert p > SIGNIFICANCE


@pytest.mark.parametrize("max_ngram_size", [1, 3])
def test_rows_that_are_never_masked_are_those_without_a_word_that_fits(max_ngram_size):
    """Long words and few predictions; twenty draws find every row that can be masked."""
    ids, lengths = random_batch(300, 24, seed=5)
    inner = np.isin(ids, list(CONTINUING))
    ids[(ids > MASK) & ~inner & (np.random.default_rng(2).random(ids.shape) < 0.7)] = min(CONTINUING)
    mask = masker(True, max_ngram_size, max_predictions=2)
    drawn = [mask(ids, lengths, np.random.default_rng(seed)).weights.any(axis=1) for seed in range(20)]
    never = mask.are_never_masked(ids, lengths)
    np.testing.assert_array_equal(never, ~np.any(drawn, axis=0))
    assert 0 < never.sum() < len(never)
