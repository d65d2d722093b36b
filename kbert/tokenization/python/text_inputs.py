"""Texts -> encoder inputs: [CLS] a [SEP] b [SEP], or MPNet's <s> a </s></s> b </s>, and padding."""

from itertools import chain

import numpy as np

from kbert.checks import require_length, require_listed
from kbert.tokenization.truncation import truncated_lengths
from kbert.tokenization.vocabulary import Vocabulary

from .packing import pack
from .wordpiece_tokenizer import WordPieceTokenizer


class TextInputs:
    """Tokenizes and packs single texts or pairs, as kbert's `TextInputs` does in the graph.

    Args:
      vocabulary: the `Vocabulary` with its casing.
      max_seq_length: the length of a row, special tokens included.

    Call arguments:
      texts: list of str.
      text_pairs: list of the second texts, or None.

    Returns:
      dict of int32 arrays of shape (texts, max_seq_length): input_ids, input_mask, segment_ids.

    Raises:
      ValueError: as `require_length`.

    Examples:
      >>> from kbert import Vocabulary
      >>> from kbert.tokenization.python.text_inputs import TextInputs
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> TextInputs(vocabulary, max_seq_length=6)(["Playing", "chess"])["input_ids"].tolist()
      [[2, 5, 6, 3, 0, 0], [2, 1, 3, 0, 0, 0]]
    """

    def __init__(self, vocabulary: Vocabulary, max_seq_length: int):
        require_length(max_seq_length, vocabulary)
        self.vocabulary = vocabulary
        self.max_seq_length = max_seq_length
        self.tokenizer = WordPieceTokenizer(vocabulary)

    def __call__(self, texts, text_pairs=None) -> dict[str, np.ndarray]:
        return self.rows(texts, text_pairs)[0]

    def rows(self, texts, text_pairs=None) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """(what a call returns; bool (texts,): whether each text or pair was cut)."""
        require_listed(texts, "texts")
        require_listed(text_pairs, "text_pairs")
        pairs = [None] * len(texts) if text_pairs is None else text_pairs
        ids = [
            (self.tokenizer(text), [] if pair is None else self.tokenizer(pair))
            for text, pair in zip(texts, pairs, strict=True)
        ]
        room = self.max_seq_length - self.vocabulary.count_special(1 if text_pairs is None else 2)
        whole = np.array([list(map(len, row)) for row in ids], np.int64).reshape(-1, 2)
        kept = np.stack(truncated_lengths(whole[:, 0], whole[:, 1], room, np.minimum, np.maximum), axis=1)
        parts = (
            text[:length]
            for row, lengths in zip(ids, kept.tolist(), strict=True)
            for text, length in zip(row, lengths, strict=True)
        )
        pieces = np.fromiter(chain.from_iterable(parts), np.int32)
        seconds = None if text_pairs is None else kept[:, 1]
        features = pack(pieces, kept[:, 0], seconds, self.vocabulary, self.max_seq_length)
        return features, np.any(kept < whole, axis=1)

    def unknown_shares(self, texts) -> np.ndarray:
        """float64 (texts,): the share of each text's tokens that are unknown; not a number for none."""
        tokens, unknown = map(self.tokenizer.tokenize_with_masks, texts), self.vocabulary.unk_id
        return np.array([ids.count(unknown) / len(ids) if ids else np.nan for ids in tokens])
