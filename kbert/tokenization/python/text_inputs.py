"""Texts -> encoder inputs: [CLS] a [SEP] b [SEP], or MPNet's <s> a </s></s> b </s>, and padding."""

import numpy as np

from kbert.tokenization.truncation import truncated_lengths
from kbert.tokenization.vocabulary import Vocabulary

from .wordpiece_tokenizer import WordPieceTokenizer


class TextInputs:
    """Tokenizes and packs single texts or pairs, as kbert's `TextInputs` does in the graph.

    Args:
      vocabulary: the `Vocabulary` with its casing.
      max_seq_length: the length of a row, special tokens included; at least 4.

    Call arguments:
      texts: list of str.
      text_pairs: list of the second texts, or None.

    Returns:
      dict of int32 arrays of shape (texts, max_seq_length): input_ids, input_mask, segment_ids.

    Raises:
      ValueError: for a length under 4.

    Examples:
      >>> from kbert import Vocabulary
      >>> from kbert.tokenization.python.text_inputs import TextInputs
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> TextInputs(vocabulary, max_seq_length=6)(["Playing", "chess"])["input_ids"].tolist()
      [[2, 5, 6, 3, 0, 0], [2, 1, 3, 0, 0, 0]]
    """

    def __init__(self, vocabulary: Vocabulary, max_seq_length: int):
        if max_seq_length < 4:
            raise ValueError(f"max_seq_length={max_seq_length} is too short; it must be at least 4.")
        self.vocabulary = vocabulary
        self.max_seq_length = max_seq_length
        self.tokenizer = WordPieceTokenizer(vocabulary)
        self._second_segment = 1 if vocabulary.pair_separators == 1 else 0

    def __call__(self, texts, text_pairs=None) -> dict[str, np.ndarray]:
        shape = (len(texts), self.max_seq_length)
        input_ids = np.full(shape, self.vocabulary.pad_id, np.int32)
        input_mask, segment_ids = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        pairs = [None] * len(texts) if text_pairs is None else text_pairs
        for row, (text, pair) in enumerate(zip(texts, pairs, strict=True)):
            first, second = self._segments(text, pair)
            used = len(first) + len(second)
            input_ids[row, :used] = first + second
            input_mask[row, :used] = 1
            segment_ids[row, len(first) : used] = self._second_segment
        return {"input_ids": input_ids, "input_mask": input_mask, "segment_ids": segment_ids}

    def unknown_shares(self, texts) -> np.ndarray:
        """float64 (texts,): the share of each text's tokens that are unknown; not a number for none."""
        tokens, unknown = map(self.tokenizer.tokenize_with_masks, texts), self.vocabulary.unk_id
        return np.array([ids.count(unknown) / len(ids) if ids else np.nan for ids in tokens])

    def _segments(self, text, pair):
        """[CLS] a [SEP], and b [SEP] or nothing, cut to fit."""
        cls_id, sep_id = self.vocabulary.cls_id, self.vocabulary.sep_id
        first = self.tokenizer(text)
        if pair is None:
            return [cls_id, *first[: self.max_seq_length - 2], sep_id], []
        second = self.tokenizer(pair)
        between = [sep_id] * self.vocabulary.pair_separators
        room = self.max_seq_length - self.vocabulary.count_special(2)
        kept_first, kept_second = truncated_lengths(len(first), len(second), room)
        return [cls_id, *first[:kept_first], *between], [*second[:kept_second], sep_id]
