"""Texts that are too long for a sequence -> heads and tails, or several windows; in the graph. Core ops only.

Like `TextInputs`, and through the same packer: what fits into a sequence gives the same bits.
"""

import tensorflow as tf

from kbert.features import WINDOW_FEATURE
from kbert.tokenization.segment_packer import SegmentPacker, row_lengths
from kbert.tokenization.text_inputs import TextInputs, TextRows
from kbert.tokenization.truncation import truncated_lengths
from kbert.tokenization.window_packer import window_starts

# Of 510 pieces the first 128 and the last 382: arXiv 1905.05583 (Sun et al., 2019), section 5.3.1.
_HEAD, _WHOLE = 128, 510
_SHORTEST = 5  # of windows: [CLS] a [SEP] b [SEP]


def require_windows(max_seq_length: int, doc_stride: int | None):
    """Raises ValueError where windows have no room for a text, or would leave pieces between them out."""
    if max_seq_length < _SHORTEST:
        raise ValueError(f"max_seq_length={max_seq_length} must be at least {_SHORTEST} for windows.")
    require_stride(max_seq_length, doc_stride)


def require_stride(max_seq_length: int, doc_stride: int | None):
    """Raises ValueError for a step that would leave pieces between two windows out."""
    room = max_seq_length - 2
    if doc_stride is not None and doc_stride > room:
        raise ValueError(
            f"doc_stride={doc_stride} is more than the {room} tokens that a window of "
            f"max_seq_length={max_seq_length} holds; make it smaller, or leave it out for half of them."
        )


class _LongTextInputs:
    """What both ways of reading long texts share; `_read` and `left_out` are theirs."""

    left_out: str

    def __init__(self, text_inputs: TextInputs):
        self.max_seq_length = text_inputs.max_seq_length
        self._tokenize = text_inputs.tokenize
        self._packer = SegmentPacker(text_inputs.vocabulary, text_inputs.max_seq_length)
        self._room, self._pair_room = (
            text_inputs.max_seq_length - text_inputs.vocabulary.count_special(number) for number in (1, 2)
        )

    def __call__(self, text, text_pair=None, pad_to_longest=False) -> dict:
        return self.rows(text, text_pair, pad_to_longest=pad_to_longest).features

    def rows(self, text, text_pair=None, with_masks=False, pad_to_longest=True) -> TextRows:
        """As `TextInputs.rows`, with what stands in no row."""
        first, second = self._tokenize(text, text_pair, with_masks)
        return self._read(first, second, pad_to_longest)

    def _read(self, first, second, pad_to_longest) -> TextRows:
        raise NotImplementedError

    def _truncated(self, lengths, second_lengths):
        return truncated_lengths(lengths, second_lengths, self._pair_room, tf.minimum, tf.maximum)


class HeadAndTailInputs(_LongTextInputs):
    """As `TextInputs`, but of a text that is too long the beginning and the end are kept.

    Of the pieces that a text keeps, 128 of 510 are its first ones and the others its last ones. Each text of
    a pair keeps as many pieces as it would if it were cut.

    Args:
      text_inputs: the `TextInputs`, whose tokenizer and length are taken.

    Call arguments, returns: as for `TextInputs`.

    Reference: arXiv 1905.05583, section 5.3.1, for single texts of 510 pieces.
    """

    left_out = "lose their middle"

    def _read(self, first, second, pad_to_longest):
        lengths = row_lengths(first)
        if second is None:
            kept = tf.minimum(lengths, self._room)
            features = self._packer(_head_and_tail(first, kept), pad_to_longest=pad_to_longest)
            return TextRows(features, lengths > kept)
        second_lengths = row_lengths(second)
        kept, second_kept = self._truncated(lengths, second_lengths)
        ends = _head_and_tail(first, kept), _head_and_tail(second, second_kept)
        truncated = tf.logical_or(lengths > kept, second_lengths > second_kept)
        return TextRows(self._packer(*ends, pad_to_longest=pad_to_longest), truncated)


class WindowInputs(_LongTextInputs):
    """As `TextInputs`, but a text that is too long becomes several rows, overlapping windows of it.

    Each window begins `doc_stride` pieces after the one before; the first that reaches the end is the last.
    Of a pair the second text is cut into windows, each with the first in front. Where both are long, the
    first keeps half of the room, as it does when pairs are cut.

    Args:
      text_inputs: the `TextInputs`, whose tokenizer and length are taken.
      doc_stride: how many pieces further each window begins: a step, not an overlap. None takes half of what
        a window holds; a step never leaves pieces out.

    Call arguments: as for `TextInputs`.

    Returns:
      dict of int32 tensors: `input_ids`, `input_mask` and `segment_ids` of shape [windows, length], and
      `window_numbers` of shape [windows], 0 for the first window of a text. The windows of a text follow each
      other, in the order of the texts.

    Raises:
      ValueError: as `require_windows` does.
    """

    left_out = "their first text is cut: windows are of the second one, so swap them if the first is longer"

    def __init__(self, text_inputs, doc_stride: int | None = None):
        require_windows(text_inputs.max_seq_length, doc_stride)
        super().__init__(text_inputs)
        self._doc_stride = doc_stride

    def _read(self, first, second, pad_to_longest):
        lengths = row_lengths(first)
        if second is None:
            windows, _, numbers = self._windows(first, tf.fill(tf.shape(lengths), self._room))
            inputs = self._packer(windows, pad_to_longest=pad_to_longest)
            return TextRows(inputs | {WINDOW_FEATURE: numbers}, tf.zeros_like(lengths, tf.bool))
        kept, _ = self._truncated(lengths, row_lengths(second))
        windows, owners, numbers = self._windows(second, self._pair_room - kept)
        before = tf.gather(_first_pieces(first, kept), owners)
        inputs = self._packer(before, windows, pad_to_longest=pad_to_longest)
        return TextRows(inputs | {WINDOW_FEATURE: numbers}, lengths > kept)

    def _windows(self, pieces, rooms):
        """(the pieces of all windows as a RaggedTensor, the row of each, its number among those of its row).

        `rooms`, int32 [batch], says how many pieces a window of each row holds.
        """
        halves = tf.fill(tf.shape(rooms), self._doc_stride) if self._doc_stride else rooms // 2
        steps = tf.maximum(tf.minimum(rooms, halves), 1)
        totals = row_lengths(pieces)
        owners, starts = window_starts(totals, rooms, steps)
        lengths = tf.minimum(tf.gather(totals, owners) - starts, tf.gather(rooms, owners))
        first = tf.gather(tf.cast(pieces.row_starts(), tf.int32), owners) + starts
        taken = tf.ragged.range(first, first + lengths)
        windows = taken.with_flat_values(tf.gather(pieces.flat_values, taken.flat_values))
        return windows, owners, starts // tf.gather(steps, owners)


def window_owners(window_numbers) -> tf.Tensor:
    """Which text each row is a window of: int32 tensor of shape [windows], counted from 0.

    A row whose number does not follow that of the row before begins a text.

    Args:
      window_numbers: int32 tensor or array of shape [windows], see `WindowInputs`.
    """
    numbers = tf.convert_to_tensor(window_numbers, tf.int32)
    before = tf.concat([numbers[:1], numbers[:-1]], axis=0)
    is_first = tf.logical_or(tf.equal(numbers, 0), tf.not_equal(numbers, before + 1))
    # The first row begins a text, whatever its number is: it does not follow itself.
    return tf.cumsum(tf.cast(is_first, tf.int32)) - 1


def _positions(pieces):
    """(which piece of its row each one is, the row of each), int32 of shape [pieces]."""
    rows = tf.cast(pieces.value_rowids(), tf.int32)
    starts = tf.gather(tf.cast(pieces.row_starts(), tf.int32), rows)
    return tf.range(tf.size(rows)) - starts, rows


def _first_pieces(pieces, kept):
    """The first `kept` pieces, int32 [batch], of each row."""
    positions, rows = _positions(pieces)
    return _only(pieces, positions < tf.gather(kept, rows), kept)


def _head_and_tail(pieces, kept):
    """Of each row the first and last pieces, `kept` in all, which is int32 [batch] and at most its length."""
    heads = tf.minimum(kept, tf.maximum(kept * _HEAD // _WHOLE, 1))
    totals = row_lengths(pieces)
    positions, rows = _positions(pieces)
    in_head = positions < tf.gather(heads, rows)
    in_tail = positions >= tf.gather(totals - (kept - heads), rows)
    return _only(pieces, tf.logical_or(in_head, in_tail), kept)


def _only(pieces, is_kept, lengths):
    return tf.RaggedTensor.from_row_lengths(tf.boolean_mask(pieces.flat_values, is_kept), lengths)
