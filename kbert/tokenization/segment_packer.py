"""Pieces -> input_ids, input_mask, segment_ids: truncate, [CLS] a [SEP] b [SEP], pad. Core ops only.

TF-Text's trimmers are not used: stock TF Serving refuses RoundRobinTrim. The closed form of
`truncated_lengths` and the same dense function run in tf.data, in a SavedModel and in LiteRT.
"""

import tensorflow as tf

from kbert.checks import require_length
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.truncation import truncated_lengths


def pack_dense(first, first_lengths, second, second_lengths, *, length, vocabulary: BaseVocabulary):
    """Lays out `[CLS] first [SEP] second [SEP]`, `second [SEP]` in segment 1, and padding; with two
    separators between, `<s> first </s></s> second </s>`, all in segment 0.

    Args:
      first, second: int32 tensors of shape [batch, width], width at least 1, holding at least the given
        lengths; `second` and its lengths may be None for single texts.
      first_lengths, second_lengths: int32 tensors of shape [batch], already truncated to fit.
      length: int or scalar tensor, the padded length.
      vocabulary: gives the ids of [CLS], [SEP] and [PAD], and its `pair_separators`.

    Returns:
      (input_ids, input_mask, segment_ids), each int32 of shape [batch, length].
    """
    position = tf.expand_dims(tf.range(length), 0)  # (1, L)
    first_end = tf.expand_dims(first_lengths, 1) + 1  # (B, 1), the position of the first [SEP]
    inside = tf.logical_and(position > 0, position < first_end)
    input_ids = tf.where(inside, _take(first, position - 1), vocabulary.pad_id)
    input_ids = tf.where(tf.equal(position, 0), vocabulary.cls_id, input_ids)
    input_ids = tf.where(tf.equal(position, first_end), vocabulary.sep_id, input_ids)
    end = first_end
    if second is not None:
        before = first_end + vocabulary.pair_separators - 1  # the position of the last separator between
        if vocabulary.pair_separators == 2:
            input_ids = tf.where(tf.equal(position, before), vocabulary.sep_id, input_ids)
        end = before + tf.expand_dims(second_lengths, 1) + 1
        inside = tf.logical_and(position > before, position < end)
        input_ids = tf.where(inside, _take(second, position - before - 1), input_ids)
        input_ids = tf.where(tf.equal(position, end), vocabulary.sep_id, input_ids)
    real = position <= end
    if vocabulary.pair_separators == 1:
        segment_ids = tf.cast(tf.logical_and(position > first_end, real), tf.int32)
    else:
        segment_ids = tf.zeros_like(input_ids)
    return input_ids, tf.cast(real, tf.int32), segment_ids


def _take(values, indices):
    """values[b, indices[b, l]] with indices clipped into range; int32 (B, L)."""
    width = tf.shape(values)[1]
    rows = tf.zeros_like(values[:, :1])  # (B, 1): broadcasts a (1, L) index to the batch
    return tf.gather(values, tf.clip_by_value(indices + rows, 0, width - 1), batch_dims=1)


def row_lengths(pieces) -> tf.Tensor:
    """How many pieces each row of a RaggedTensor has: int32 [batch], as positions are."""
    return tf.cast(pieces.row_lengths(), tf.int32)


class SegmentPacker:
    """Truncates and packs one or two ragged texts.

    Args:
      vocabulary: gives the ids of [CLS], [SEP] and [PAD].
      max_seq_length: the most positions a sequence takes, special tokens included.

    Call arguments:
      first: int32 RaggedTensor of shape [batch, (pieces)].
      second: the same for the second text, or None.
      pad_to_longest: pad to the longest sequence of the batch instead of `max_seq_length`.

    Returns:
      dict of int32 tensors of shape [batch, length]: input_ids, input_mask, segment_ids.
    """

    def __init__(self, vocabulary, max_seq_length: int):
        require_length(max_seq_length, vocabulary)
        self._vocabulary, self.max_seq_length = vocabulary, max_seq_length

    def __call__(self, first, second=None, pad_to_longest: bool = False) -> dict:
        special = self._vocabulary.count_special(1 if second is None else 2)
        room = self.max_seq_length - special
        first_lengths = row_lengths(first)
        second_lengths = dense_second = None
        if second is None:
            first_lengths = tf.minimum(first_lengths, room)
            used = first_lengths + special
        else:
            second_lengths = row_lengths(second)
            first_lengths, second_lengths = truncated_lengths(
                first_lengths, second_lengths, room, tf.minimum, tf.maximum
            )
            dense_second = second.to_tensor(shape=[None, room])
            used = first_lengths + second_lengths + special
        input_ids, input_mask, segment_ids = pack_dense(
            first.to_tensor(shape=[None, room]),
            first_lengths,
            dense_second,
            second_lengths,
            # An empty batch has no longest text; 2 is [CLS] [SEP].
            length=tf.maximum(tf.reduce_max(used), 2) if pad_to_longest else self.max_seq_length,
            vocabulary=self._vocabulary,
        )
        return {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}

    def truncates(self, first, second):
        """Whether a call cuts pieces off: bool tensor of shape [batch]. Takes the texts as a call does."""
        if second is None:
            return first.row_lengths() > self.max_seq_length - self._vocabulary.count_special(1)
        room = self.max_seq_length - self._vocabulary.count_special(2)
        return first.row_lengths() + second.row_lengths() > room
