"""Texts -> encoder inputs: one for training, prediction and the exported graph."""

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kbert.checks import python_numbers, require_listed
from kbert.late_tensorflow import traced_function
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.segment_packer import SegmentPacker
from kbert.tokenization.tokenizer import build_tokenizer

_FEW = 16  # texts, for which op by op takes less time than tracing a graph


class TextRows(NamedTuple):
    """What a model reads of a batch of texts or pairs of texts, and whether that is all of them.

    Args:
      features: int32 tensors of shape [rows, length], padded to the longest row: input_ids, input_mask,
        segment_ids; and `window_numbers` where a text may become several rows.
      truncated: bool tensor of shape [batch]: whether tokens of the text, or of either text of a pair, stand
        in no row. A text whose windows hold all of it is not truncated.
    """

    features: dict
    truncated: tf.Tensor


class TextInputs:
    """Tokenizes and packs single texts or pairs, in the graph.

    Args:
      vocabulary: the `Vocabulary`, or a `BaseVocabulary` of another kind.
      max_seq_length: the most positions a sequence takes, special tokens included.

    Call arguments:
      text: string tensor of shape [batch].
      text_pair: the second texts, string tensor of shape [batch], or None.
      pad_to_longest: pad to the longest sequence of the batch instead of `max_seq_length`.
      with_masks: read a literal mask token (`[MASK]`) as one.

    Attributes:
      vocabulary, max_seq_length: as given.
      tokenizer: the `WordPieceTokenizer`, or that of another kind.
      left_out: what becomes of texts that are too long, for messages.

    Returns:
      dict of int32 tensors of shape [batch, length]: input_ids, input_mask, segment_ids.

    Examples:
      >>> import tensorflow as tf
      >>> from kbert import TextInputs, Vocabulary
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> inputs = TextInputs(vocabulary, max_seq_length=6)(tf.constant(["Playing", "chess"]))
      >>> inputs["input_ids"].numpy().tolist()
      [[2, 5, 6, 3, 0, 0], [2, 1, 3, 0, 0, 0]]
    """

    left_out = "are cut at the end"

    def __init__(self, vocabulary: BaseVocabulary, max_seq_length: int):
        self.vocabulary = vocabulary
        self.max_seq_length = python_numbers(max_seq_length)
        self.tokenizer = build_tokenizer(vocabulary)
        self._packer = SegmentPacker(vocabulary, self.max_seq_length)

    def __call__(self, text, text_pair=None, pad_to_longest=False, with_masks=False):
        first, second = self.tokenize(text, text_pair, with_masks)
        return self._packer(first, second, pad_to_longest=pad_to_longest)

    def rows(self, text, text_pair=None, with_masks=False, pad_to_longest=True) -> TextRows:
        """As a call, by default with `pad_to_longest`, with what was cut off; a row for each text."""
        first, second = self.tokenize(text, text_pair, with_masks)
        return self.pack_tokens(first, second, pad_to_longest)

    def unknown_shares(self, texts: Sequence[str]) -> np.ndarray:
        """float32 (texts,): the share of each text's tokens that are unknown; not a number for none."""
        shares = self._unknown_shares if len(texts) < _FEW else self._unknown_graph
        return shares(tf.constant(texts)).numpy()

    def _unknown_shares(self, texts):
        ids = self.tokenizer.tokenize_with_masks(texts)
        return tf.reduce_mean(tf.cast(ids == self.vocabulary.unk_id, tf.float32), axis=1)

    @functools.cached_property
    def _unknown_graph(self):
        return traced_function(self._unknown_shares, [tf.TensorSpec([None], tf.string)])

    def pack_tokens(self, first, second=None, pad_to_longest=True) -> TextRows:
        """As `rows`, for texts that are tokenized: int32 RaggedTensors of shape [batch, (tokens)]."""
        features = self._packer(first, second, pad_to_longest=pad_to_longest)
        return TextRows(features, self._packer.truncates(first, second))

    def tokenize(self, text, text_pair=None, with_masks=False) -> tuple:
        """The texts and the second ones, or None, as int32 RaggedTensors of shape [batch, (tokens)]."""
        require_listed(text, "text")
        require_listed(text_pair, "text_pair")
        tokenize = self.tokenizer.tokenize_with_masks if with_masks else self.tokenizer
        return tokenize(text), None if text_pair is None else tokenize(text_pair)
