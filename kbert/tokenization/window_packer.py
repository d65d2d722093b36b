"""Long texts -> overlapping windows: the rows that a model reads, in the graph. Core ops only.

The same function serves training, evaluation and the SavedModel, so they cut a text at the same places.
"""

from typing import NamedTuple

import tensorflow as tf

from kbert.tokenization.segment_packer import pack_dense, row_lengths


class Windows(NamedTuple):
    """The windows of a batch of contexts, in the order of the contexts and from left to right.

    Args:
      features: input_ids, input_mask and segment_ids, each an int32 tensor of shape [windows, length].
      owners: int32 tensor of shape [windows], the row of the context that each window is a part of.
      first_pieces: int32 tensor of shape [windows], which piece of its context a window begins with.
      context_starts: int32 tensor of shape [windows], the position where that piece stands.
      lengths: int32 tensor of shape [windows], how many pieces of the context the window holds.
    """

    features: dict
    owners: tf.Tensor
    first_pieces: tf.Tensor
    context_starts: tf.Tensor
    lengths: tf.Tensor


def require_room(max_seq_length: int, max_query_length: int | None, pair_separators: int = 1) -> int:
    """How many pieces of a text a window holds beside the longest question; see `WindowPacker`. Raises
    ValueError when it holds none."""
    special = 2 if max_query_length is None else 2 + pair_separators
    room = max_seq_length - (max_query_length or 0) - special
    if room < 1:
        raise ValueError(
            f"max_seq_length={max_seq_length} leaves no room for a text beside {special} special tokens "
            f"and a question of max_query_length={max_query_length or 0}; make it longer, or the question "
            "shorter."
        )
    return room


class WindowPacker:
    """Cuts contexts into windows of at most `max_seq_length` positions, each with its question in front.

    With a question a window is `[CLS] question [SEP] context [SEP]`, the context as segment 1; without one
    `[CLS] context [SEP]`, all of segment 0. Each window begins `doc_stride` pieces after the one before, or
    as many as a window holds where that is less; the first one that reaches the end is the last. A context
    without pieces gets one window without pieces (the original makes none, and such a question no answer).

    Args:
      vocabulary: gives the ids of [CLS], [SEP] and [PAD].
      max_seq_length: the most positions of a window, special tokens included.
      doc_stride: how many pieces further each window begins, at least 1: a step, not an overlap.
      max_query_length: the most pieces of a question, at least 1, which is cut there; None where there are no
        questions.

    Call arguments:
      contexts: int32 RaggedTensor of shape [batch, (pieces)].
      questions: the same for the questions, or None.
      pad_to_longest: pad to the longest window of the batch instead of `max_seq_length`.

    Attributes:
      least_room: how many pieces of a context a window holds beside the longest question.

    Returns:
      `Windows`.

    Raises:
      ValueError: for lengths that leave no room for the context.

    Examples:
      >>> import tensorflow as tf
      >>> from kbert.tokenization.vocabulary import Vocabulary
      >>> from kbert.tokenization.window_packer import WindowPacker
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], True)
      >>> packer = WindowPacker(vocabulary, max_seq_length=5, doc_stride=2)
      >>> windows = packer(tf.ragged.constant([[11, 12, 13, 14]]))
      >>> windows.features["input_ids"].numpy().tolist()
      [[2, 11, 12, 13, 3], [2, 13, 14, 3, 0]]

    Reference: google-research/bert, run_squad.py, `convert_examples_to_features`.
    """

    def __init__(self, vocabulary, max_seq_length: int, doc_stride: int, max_query_length: int | None = None):
        self.least_room = require_room(max_seq_length, max_query_length, vocabulary.pair_separators)
        self.max_seq_length = max_seq_length
        self.doc_stride = doc_stride
        self.max_query_length = max_query_length
        self._vocabulary = vocabulary

    def __call__(self, contexts, questions=None, pad_to_longest: bool = False) -> Windows:
        totals = row_lengths(contexts)
        before, query, query_lengths = self._queries(totals, questions)
        rooms = self.max_seq_length - before - 1
        owners, first_pieces = window_starts(totals, rooms, tf.minimum(rooms, self.doc_stride))
        lengths = tf.minimum(tf.gather(totals, owners) - first_pieces, tf.gather(rooms, owners))
        pieces = _slices(contexts, owners, first_pieces, self.max_seq_length)
        context_starts = tf.gather(before, owners)
        longest = tf.maximum(tf.reduce_max(context_starts + lengths + 1), 2)  # an empty batch has none
        length = longest if pad_to_longest else self.max_seq_length
        if query is None:
            texts = pieces, lengths, None, None
        else:
            texts = tf.gather(query, owners), tf.gather(query_lengths, owners), pieces, lengths
        packed = pack_dense(*texts, length=length, vocabulary=self._vocabulary)
        features = dict(zip(("input_ids", "input_mask", "segment_ids"), packed, strict=True))
        return Windows(features, owners, first_pieces, context_starts, lengths)

    def _queries(self, totals, questions):
        """(positions before the context [batch], questions [batch, width] and their lengths, or None)."""
        if questions is None:
            return tf.ones_like(totals), None, None
        lengths = tf.minimum(row_lengths(questions), self.max_query_length)
        before = lengths + 1 + self._vocabulary.pair_separators
        return before, questions.to_tensor(shape=[None, self.max_query_length]), lengths


def window_starts(totals, rooms, steps):
    """(owners, first pieces), both int32 [windows]: the row of each window, and the piece it begins with.

    A text that does not fit needs one more window for every step or part of one that it is longer.

    Args:
      totals: int32 tensor of shape [batch], how many pieces each row has.
      rooms: the same, how many a window of the row holds.
      steps: the same, at least 1: how many pieces further each window begins.
    """
    counts = 1 + (tf.maximum(totals - rooms, 0) + steps - 1) // steps
    owners = tf.repeat(tf.range(tf.size(counts)), counts)
    numbers = tf.range(tf.size(owners)) - tf.gather(tf.cumsum(counts, exclusive=True), owners)
    return owners, numbers * tf.gather(steps, owners)


def _slices(contexts, owners, first_pieces, width):
    """The pieces from `first_pieces` on, int32 [windows, width]; after the end of a context, any id."""
    starts = tf.gather(tf.cast(contexts.row_starts(), tf.int32), owners) + first_pieces
    flat = tf.pad(contexts.flat_values, [[0, 1]])  # so that there is something to take
    return tf.gather(flat, tf.minimum(starts[:, tf.newaxis] + tf.range(width), tf.size(flat) - 1))


def context_positions(windows: Windows) -> tf.Tensor:
    """Which piece of its context stands at each position: int32 [windows, length], -1 where none does."""
    offset = tf.range(tf.shape(windows.features["input_ids"])[1]) - windows.context_starts[:, tf.newaxis]
    inside = tf.logical_and(offset >= 0, offset < windows.lengths[:, tf.newaxis])
    return tf.where(inside, offset + windows.first_pieces[:, tf.newaxis], -1)


def has_max_context(windows: Windows) -> tf.Tensor:
    """Whether no other window shows more of the text around a piece: bool [windows, length].

    A piece may stand in several windows. What counts is the smaller of its pieces to the left and to the
    right in the window, plus a hundredth of the window's length; of equal windows the first. So every piece
    of a context has just one window.

    Reference: google-research/bert, run_squad.py, `_check_is_max_context`, in the same double precision.
    """
    pieces = context_positions(windows)
    real = pieces >= 0
    left = pieces - windows.first_pieces[:, tf.newaxis]
    lengths = windows.lengths[:, tf.newaxis]
    around = tf.cast(tf.minimum(left, lengths - 1 - left), tf.float64)
    scores = around + 0.01 * tf.cast(lengths, tf.float64)
    # Each piece of the batch has a number: those of its context come after those of the contexts before.
    sizes = tf.math.segment_max(windows.first_pieces + windows.lengths, windows.owners)
    numbers = pieces + tf.gather(tf.cumsum(sizes, exclusive=True), windows.owners)[:, tf.newaxis]
    scores, numbers = tf.boolean_mask(scores, real), tf.boolean_mask(numbers, real)
    best = tf.math.unsorted_segment_max(scores, numbers, tf.reduce_sum(sizes))
    rows = tf.cast(tf.where(real), tf.int32)
    candidates = tf.where(tf.equal(scores, tf.gather(best, numbers)), rows[:, 0], tf.int32.max)
    first = tf.math.unsorted_segment_min(candidates, numbers, tf.reduce_sum(sizes))
    chosen = tf.equal(rows[:, 0], tf.gather(first, numbers))
    return tf.scatter_nd(rows, chosen, tf.shape(real))
