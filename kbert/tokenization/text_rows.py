"""Texts as rows of a model, and whether a model sees the whole of each."""

from typing import NamedTuple

import tensorflow as tf


class TextRows(NamedTuple):
    """What a model reads of a batch of texts or pairs of texts, and whether that is all of them.

    Args:
      features: int32 tensors of shape [rows, length], padded to the longest row: input_ids, input_mask,
        segment_ids; and `window_numbers` where a text may become several rows.
      truncated: bool tensor of shape [batch]: whether pieces of the text, or of either text of a pair, stand
        in no row. A text whose windows hold all of it is not truncated.
    """

    features: dict
    truncated: tf.Tensor
