"""Piece ids -> masked ids, positions and answers for the masked LM, by the original's rules.

The rules are those of create_pretraining_data.py, `create_masked_lm_predictions`; here they run over a
batch of sequences at once. Letters: B batch, L padded length, P predictions.
"""

from typing import NamedTuple

import numpy as np

from kbert.tokenization.vocabulary import Vocabulary

_MASKED_SHARE = 0.8
_UNCHANGED_SHARE = 0.1  # the rest is replaced by a random piece


class MaskedPieces(NamedTuple):
    """What masking makes of a batch.

    Args:
      input_ids: int32 array (B, L), the ids with the chosen places masked, replaced or kept.
      positions: int32 array (B, P), the chosen places in rising order, then zeros.
      answers: int32 array (B, P), what stood there before, then zeros.
      weights: float32 array (B, P), 1.0 at answers and 0.0 at the zeros that fill up.
    """

    input_ids: np.ndarray
    positions: np.ndarray
    answers: np.ndarray
    weights: np.ndarray


class PieceMasker:
    """Chooses places and masks them: 80 % [MASK], 10 % unchanged, 10 % any piece of the vocabulary.

    Every piece but [CLS] and [SEP] may be chosen. The three fates are drawn piece by piece, within whole
    words too. Replacements come from the whole vocabulary, special tokens and unused entries included,
    and may by chance be the piece that stood there: the original draws so, and kbert keeps to it.

    Args:
      vocabulary: gives the special ids and tells which pieces continue a word.
      max_predictions_per_seq: the most places of one sequence, and the width P of the answers.
      masked_lm_prob: the share of a sequence's length, [CLS] and [SEP] counted, that is chosen.
      do_whole_word_mask: choose a word with all its pieces ("##" pieces join what stands before them) or
        not at all.

    Call arguments:
      input_ids: int32 array (B, L).
      lengths: integer array (B,), how many places of each row are real.
      generator: a `numpy.random.Generator`; the same state gives the same masks.

    Returns:
      `MaskedPieces`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        max_predictions_per_seq: int,
        masked_lm_prob: float,
        do_whole_word_mask: bool,
    ):
        self._vocab_size = len(vocabulary)
        self._mask_id = vocabulary.mask_id
        self._never_chosen = np.zeros(len(vocabulary), bool)
        self._never_chosen[[vocabulary.cls_id, vocabulary.sep_id]] = True
        self._joins_previous = np.zeros(len(vocabulary), bool)
        if do_whole_word_mask:
            self._joins_previous[:] = [token.startswith("##") for token in vocabulary.tokens]
        self._max_predictions = max_predictions_per_seq
        self._masked_lm_prob = masked_lm_prob

    def num_to_predict(self, lengths) -> np.ndarray:
        """How many places of sequences of these lengths are chosen: at least 1, at most P.

        `np.rint` rounds halves to even like Python 3's `round`, which the original uses.
        """
        wanted = np.rint(np.asarray(lengths) * self._masked_lm_prob).astype(np.int64)
        return np.minimum(self._max_predictions, np.maximum(1, wanted))

    def __call__(self, input_ids: np.ndarray, lengths: np.ndarray, generator: np.random.Generator):
        chosen = self._choose(input_ids, lengths, generator)

        # Row by row from left to right, so positions come out sorted.
        rows, columns = np.nonzero(chosen)
        per_row = chosen.sum(axis=1)
        slots = np.arange(len(rows)) - np.repeat(np.cumsum(per_row) - per_row, per_row)

        # The three fates, one draw a piece.
        answers = input_ids[rows, columns]
        fate = generator.random(len(rows))
        any_piece = generator.integers(0, self._vocab_size, len(rows), dtype=np.int32)
        shown = np.where(fate < _MASKED_SHARE + _UNCHANGED_SHARE, answers, any_piece)
        shown = np.where(fate < _MASKED_SHARE, self._mask_id, shown)

        masked = MaskedPieces(
            input_ids=input_ids.astype(np.int32),
            positions=np.zeros((len(input_ids), self._max_predictions), np.int32),
            answers=np.zeros((len(input_ids), self._max_predictions), np.int32),
            weights=np.zeros((len(input_ids), self._max_predictions), np.float32),
        )
        masked.input_ids[rows, columns] = shown
        masked.positions[rows, slots] = columns
        masked.answers[rows, slots] = answers
        masked.weights[rows, slots] = 1.0
        return masked

    def _choose(self, input_ids, lengths, generator):
        """Which places are chosen: bool (B, L)."""
        batch, length = input_ids.shape
        rows = np.arange(batch)
        wanted = self.num_to_predict(lengths)

        # Candidates belong to groups, numbered from 0 in each row: single pieces, or words. A "##" piece
        # after [SEP] (its word was cut in front) joins the last word before it, as in the original.
        candidate = (np.arange(length) < lengths[:, np.newaxis]) & ~self._never_chosen[input_ids]
        begins = candidate & ~self._joins_previous[input_ids]
        first = candidate & (np.cumsum(candidate, axis=1) == 1)  # there is nothing before it to join
        group = np.cumsum(begins | first, axis=1) - 1  # (B, L), -1 before the first candidate
        flat = (rows[:, np.newaxis] * length + group)[candidate]
        sizes = np.bincount(flat, minlength=batch * length).reshape(batch, length)

        # Groups in random order, those that do not exist last.
        order = np.argsort(np.where(sizes > 0, generator.random(sizes.shape), 2.0), axis=1)

        # Each group in its turn is taken whole if it fits into what is left, else passed over.
        left = wanted.copy()
        taken = np.zeros((batch, length), bool)
        for turn in range(length):
            number = order[:, turn]
            size = sizes[rows, number]
            fits = (size > 0) & (size <= left)
            taken[rows, number] = fits
            left -= size * fits
            if not left.any():
                break
        return candidate & np.take_along_axis(taken, np.maximum(group, 0), axis=1)
