"""Piece ids -> masked ids, positions and answers for the masked LM, by the rules of the original BERT.

The rules are those of google-research/bert, create_pretraining_data.py, `create_masked_lm_predictions`. Spans
follow the function of the same name in google-research/albert. This code masks a batch of sequences at once.
It is used either when records are made, or each time they are read. NumPy only. Letters: B batch, L padded
length, P predictions, G groups (pieces or words, at most L in a row).
"""

from typing import NamedTuple

import numpy as np

from kbert.tokenization.base_vocabulary import BaseVocabulary

_MASKED_SHARE = 0.8
_UNCHANGED_SHARE = 0.1  # the rest is replaced by a random piece

# A key has a random number in its high bits and a column in its low bits. Sorting the keys gives the columns
# in random order, and is faster than `argsort`. 48 random bits are practically never equal.
_COLUMN_BITS = np.uint64(0xFFFF)
_LAST = np.uint64(0xFFFF_FFFF_FFFF_FFFF)  # the key of a column that is not a candidate


class MaskedPieces(NamedTuple):
    """A masked batch.

    Args:
      input_ids: int32 array (B, L), the ids; at the chosen positions they are masked, replaced or kept.
      positions: int32 array (B, P), the chosen positions in ascending order, then zeros.
      answers: int32 array (B, P), the original ids at these positions, then zeros.
      weights: float32 array (B, P), 1.0 for answers and 0.0 for the zeros after them.
    """

    input_ids: np.ndarray
    positions: np.ndarray
    answers: np.ndarray
    weights: np.ndarray


class PieceMasker:
    """Chooses positions and masks them: 80% [MASK], 10% unchanged, 10% a random piece of the vocabulary.

    Every piece except [CLS] and [SEP] may be chosen. One of the three is drawn for each piece separately,
    also within whole words and spans. Random pieces come from the whole vocabulary, including special tokens
    and unused entries, and may by chance be the original piece: the original BERT does the same.

    Spans begin at words (or pieces) in random order. The length n of each span is drawn with a probability
    proportional to 1/n. A span ends early at the end of the text or segment. If it is longer than the number
    of pieces still to predict, it is shortened word by word. A span that overlaps an earlier one is skipped.

    Args:
      vocabulary: defines the special ids and the pieces that continue a word.
      max_predictions_per_seq: the largest number of positions in one sequence; the width P of the answers.
      masked_lm_prob: the share of the sequence length, including [CLS] and [SEP], that is chosen.
      do_whole_word_mask: choose all pieces of a word or none ("##" pieces belong to the piece before them).
      max_ngram_size: the longest span, counted in words if `do_whole_word_mask` is set, otherwise in pieces;
        1 is the masking of the original BERT.

    Call arguments:
      input_ids: int32 array (B, L); L is at most 65,536.
      lengths: integer array (B,), the number of real positions of each row.
      generator: a `numpy.random.Generator`; the same state and batch give the same masks.

    Returns:
      `MaskedPieces`.
    """

    def __init__(
        self,
        vocabulary: BaseVocabulary,
        *,
        max_predictions_per_seq: int,
        masked_lm_prob: float,
        do_whole_word_mask: bool,
        max_ngram_size: int = 1,
    ):
        self._vocab_size = len(vocabulary)
        self._mask_id = vocabulary.mask_id
        self._may_be_chosen = np.ones(len(vocabulary), bool)
        self._may_be_chosen[[vocabulary.cls_id, vocabulary.sep_id]] = False
        self._joins_previous = None
        if do_whole_word_mask:
            self._joins_previous = np.array(list(map(vocabulary.continues_word, vocabulary.tokens)))
        self._joins_over_gaps = vocabulary.marks_first_word
        self._max_predictions = max_predictions_per_seq
        self._masked_lm_prob = masked_lm_prob
        self._max_ngram_size = max_ngram_size

    def num_to_predict(self, lengths) -> np.ndarray:
        """The number of positions to choose in sequences of these lengths: at least 1, at most P.

        `np.rint` rounds halves to even, like Python 3's `round`, which the original uses.
        """
        wanted = np.rint(np.asarray(lengths) * self._masked_lm_prob).astype(np.int64)
        return np.minimum(self._max_predictions, np.maximum(1, wanted))

    def are_never_masked(self, input_ids: np.ndarray, lengths) -> np.ndarray:
        """Which rows have no position to choose, whatever is drawn, as all groups are too long: bool (B,)."""
        wanted = self.num_to_predict(lengths)
        sizes = self._groups(self._candidate(input_ids, lengths), input_ids).sizes
        return np.where(sizes > 0, sizes, input_ids.shape[1] + 1).min(axis=1) > wanted

    def _groups(self, candidate, input_ids):
        return _Groups(candidate, self._joins_previous, input_ids, self._joins_over_gaps)

    def _candidate(self, input_ids, lengths):
        """The positions that may be chosen: bool (B, L)."""
        is_real = np.arange(input_ids.shape[1]) < np.asarray(lengths)[:, np.newaxis]
        return is_real & self._may_be_chosen[input_ids]

    def __call__(self, input_ids: np.ndarray, lengths: np.ndarray, generator: np.random.Generator):
        batch, length = input_ids.shape
        wanted = self.num_to_predict(lengths)
        candidate = self._candidate(input_ids, lengths)
        if self._joins_previous is None and self._max_ngram_size == 1:
            positions = _single_pieces(candidate, wanted, self._max_predictions, generator)
        else:
            groups = self._groups(candidate, input_ids)
            if self._max_ngram_size == 1:
                taken = _whole_groups(groups, wanted, generator)
            else:
                taken = _spans(groups, wanted, self._max_ngram_size, generator)
            positions = _positions(candidate & np.take_along_axis(taken, groups.group_ids, axis=1), wanted)

        # Chosen positions in ascending order; empty slots hold the number `length`.
        real = np.zeros((batch, self._max_predictions), bool)
        real[:, : positions.shape[1]] = positions < length
        rows = np.nonzero(real)[0]
        columns = positions[positions < length]

        # For each piece: [MASK], unchanged, or a random piece.
        answers = input_ids[rows, columns]
        fate = generator.random(len(rows))
        any_piece = generator.integers(0, self._vocab_size, len(rows), dtype=np.int32)
        shown = np.where(fate < _MASKED_SHARE + _UNCHANGED_SHARE, answers, any_piece)
        shown = np.where(fate < _MASKED_SHARE, self._mask_id, shown)

        masked = MaskedPieces(
            input_ids=input_ids.astype(np.int32),
            positions=np.zeros(real.shape, np.int32),
            answers=np.zeros(real.shape, np.int32),
            weights=real.astype(np.float32),
        )
        masked.input_ids[rows, columns] = shown
        masked.positions[real] = columns
        masked.answers[real] = answers
        return masked


def _random_order(exists, generator):
    """Keys (B, columns) that, once sorted, give the columns of each row in random order; columns that do not
    exist come last."""
    keys = generator.integers(0, _LAST, exists.shape, dtype=np.uint64, endpoint=True)
    keys = keys & ~_COLUMN_BITS | np.arange(exists.shape[1], dtype=np.uint64)
    keys[~exists] = _LAST
    return keys


def _single_pieces(candidate, wanted, max_predictions, generator):
    """Positions of `wanted` candidates of each row: int (B, at most P), ascending, filled up with L."""
    length = candidate.shape[1]
    most = min(max_predictions, length)
    keys = _random_order(candidate, generator)
    if most < length:
        keys = np.partition(keys, most - 1, axis=1)[:, :most]
    keys.sort(axis=1)
    positions = (keys & _COLUMN_BITS).astype(np.int64)
    positions[(keys == _LAST) | (np.arange(most) >= wanted[:, np.newaxis])] = length
    positions.sort(axis=1)
    return positions


def _positions(chosen, wanted):
    """The positions where `chosen` (B, L) is true: int (B, at most P), ascending, filled up with L."""
    length = chosen.shape[1]
    rows, columns = np.nonzero(chosen)
    per_row = chosen.sum(axis=1)
    slots = np.arange(len(rows)) - np.repeat(np.cumsum(per_row) - per_row, per_row)
    positions = np.full((len(chosen), wanted.max(initial=1)), length, np.int64)
    positions[rows, slots] = columns
    return positions


class _Groups:
    """The candidates of each row in groups, numbered from 0. A group is a single piece or a word.

    A "##" piece after [SEP] (the beginning of its word was cut off) belongs to the last word before it, as in
    the original. Byte-level BPE does not mark the first word of a text: without `joins_over_gaps` a group
    ends at a gap, as in fairseq.

    Attributes:
      group_ids: int (B, L), the group of each position; undefined where there is no candidate.
      sizes: int (B, L), the number of pieces of each group, 0 for groups that do not exist.
      begins: bool (B, L), the positions where a group begins.
      candidate: bool (B, L), the positions that may be chosen.
    """

    def __init__(self, candidate, joins_previous, input_ids, joins_over_gaps):
        batch, length = candidate.shape
        self.candidate = candidate
        self.begins = candidate
        if joins_previous is not None:
            first = candidate & (np.cumsum(candidate, axis=1, dtype=np.int32) == 1)
            self.begins = candidate & ~joins_previous[input_ids] | first  # nothing comes before the first
            if not joins_over_gaps:
                self.begins[:, 1:] |= candidate[:, 1:] & ~candidate[:, :-1]
        numbers = np.cumsum(self.begins, axis=1, dtype=np.int32) - 1
        self.group_ids = np.maximum(numbers, 0).astype(np.int64)
        flat = self.group_ids + np.arange(batch)[:, np.newaxis] * length
        self.sizes = np.bincount(flat[candidate], minlength=batch * length).reshape(batch, length)

    def groups_until_gap(self):
        """int (B, L): for each group, how many groups follow without a gap ([SEP]), including itself."""
        batch, length = self.sizes.shape
        after_gap = self.begins.copy()
        after_gap[:, 1:] &= ~self.candidate[:, :-1]
        rows, positions = np.nonzero(after_gap)
        ends = np.full((batch, length + 1), length)
        ends[rows, self.group_ids[rows, positions]] = self.group_ids[rows, positions]
        ends[np.arange(batch), self.begins.sum(axis=1)] = self.begins.sum(axis=1)
        ends = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        return ends[:, 1:] - np.arange(length)


def _whole_groups(groups, wanted, generator):
    """Which groups are chosen: bool (B, G). Tries groups in random order, and takes each that still fits."""
    keys = _random_order(groups.sizes > 0, generator)
    keys.sort(axis=1)
    order = (keys & _COLUMN_BITS).astype(np.int64)
    order[keys == _LAST] = 0
    sizes = np.where(keys == _LAST, 0, np.take_along_axis(groups.sizes, order, axis=1))

    # The first groups fit, until one does not.
    total = np.cumsum(sizes, axis=1)
    fits = (total <= wanted[:, np.newaxis]) & (sizes > 0)
    missing = wanted - np.where(fits, sizes, 0).sum(axis=1)
    turn = fits.sum(axis=1)

    # After that, finds the next group that fits, repeatedly. Few rows need this, and few groups are found.
    rows = np.flatnonzero((missing > 0) & (turn < (sizes > 0).sum(axis=1)))
    while len(rows):
        fitting = (sizes[rows] <= missing[rows, np.newaxis]) & (sizes[rows] > 0)
        fitting &= np.arange(sizes.shape[1]) >= turn[rows, np.newaxis]
        fits_later = fitting.any(axis=1)
        rows, next_turn = rows[fits_later], fitting.argmax(axis=1)[fits_later]
        fits[rows, next_turn] = True
        missing[rows] -= sizes[rows, next_turn]
        turn[rows] = next_turn + 1
        rows = rows[missing[rows] > 0]

    taken = np.zeros(fits.shape, bool)
    chosen_rows, turns = np.nonzero(fits)
    taken[chosen_rows, order[chosen_rows, turns]] = True
    return taken


def span_lengths(shape, max_ngram_size: int, generator: np.random.Generator) -> np.ndarray:
    """Random span lengths from 1 to `max_ngram_size`, n with a probability proportional to 1/n: int array."""
    up_to = np.cumsum(1.0 / np.arange(1, max_ngram_size + 1))
    drawn = np.searchsorted(up_to / up_to[-1], generator.random(shape), side="right") + 1
    return np.minimum(drawn, max_ngram_size)


def _spans(groups, wanted, max_ngram_size, generator):
    """Which groups are chosen, in spans of neighbouring groups: bool (B, G)."""
    batch, length = groups.sizes.shape
    keys = _random_order(groups.sizes > 0, generator)
    keys.sort(axis=1)
    order = (keys & _COLUMN_BITS).astype(np.int64)
    drawn = span_lengths((batch, length), max_ngram_size, generator)
    longest = groups.groups_until_gap()
    pieces_before = np.zeros((batch, length + 1), np.int64)
    np.cumsum(groups.sizes, axis=1, out=pieces_before[:, 1:])
    num_groups = (groups.sizes > 0).sum(axis=1)

    taken = np.zeros((batch, length + max_ngram_size), bool)  # wider, so that start + step stays inside
    missing = wanted.copy()
    rows = np.arange(batch)
    for turn in range(length):
        rows = rows[(missing[rows] > 0) & (turn < num_groups[rows])]
        if not len(rows):
            break
        start = order[rows, turn]
        number = np.minimum(drawn[rows, turn], longest[rows, start])

        # Shortens each span to the number of pieces that are left to choose.
        before, room = pieces_before[rows, start], missing[rows]
        size = pieces_before[rows, start + number] - before
        while (too_long := (size > room) & (number > 1)).any():
            number = number - too_long
            size = pieces_before[rows, start + number] - before

        fits = size <= room
        for step in range(max_ngram_size):
            fits &= ~((step < number) & taken[rows, start + step])
        for step in range(max_ngram_size):
            in_span = fits & (step < number)
            taken[rows[in_span], start[in_span] + step] = True
        missing[rows] -= size * fits
    return taken[:, :length]
