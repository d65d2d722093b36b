"""Texts -> encoder inputs: [CLS] a [SEP] b [SEP], or MPNet's <s> a </s></s> b </s>, and padding."""

from itertools import chain

import numpy as np

from kbert.tokenization.truncation import truncated_lengths
from kbert.tokenization.vocabulary import Vocabulary

from .packing import pack
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

    def __call__(self, texts, text_pairs=None) -> dict[str, np.ndarray]:
        pairs = [None] * len(texts) if text_pairs is None else text_pairs
        rows = [self._kept(text, pair) for text, pair in zip(texts, pairs, strict=True)]
        lengths = np.array([list(map(len, row)) for row in rows], np.int64).reshape(-1, 2)
        pieces = np.fromiter(chain.from_iterable(first + second for first, second in rows), np.int32)
        seconds = None if text_pairs is None else lengths[:, 1]
        return pack(pieces, lengths[:, 0], seconds, self.vocabulary, self.max_seq_length)

    def unknown_shares(self, texts) -> np.ndarray:
        """float64 (texts,): the share of each text's tokens that are unknown; not a number for none."""
        tokens, unknown = map(self.tokenizer.tokenize_with_masks, texts), self.vocabulary.unk_id
        return np.array([ids.count(unknown) / len(ids) if ids else np.nan for ids in tokens])

    def _kept(self, text, pair):
        """The ids of both texts, cut to fit; none of a second text that is None."""
        first = self.tokenizer(text)
        if pair is None:
            return first[: self.max_seq_length - self.vocabulary.count_special(1)], []
        second = self.tokenizer(pair)
        room = self.max_seq_length - self.vocabulary.count_special(2)
        kept_first, kept_second = truncated_lengths(len(first), len(second), room)
        return first[:kept_first], second[:kept_second]
