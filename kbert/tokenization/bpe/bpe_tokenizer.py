"""Texts -> ids of byte-level BPE, in the graph. Core ops only.

Rules: GPT-2's encoder.py, as Hugging Face's package tokenizers has them (`ByteLevel`, `BPE`). A text is one
array of bytes; two bytes that are in no UTF-8 stand behind words and behind texts.
"""

import numpy as np
import tensorflow as tf

from kbert.tokenization.base_tokenizer import WHITE_SPACE, BaseTokenizer, OffsetPieces
from kbert.tokenization.bpe.bpe_merges import PairMerger
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, SPACE_CHARACTER, BytePairVocabulary
from kbert.tokenization.word_offsets import characters_before_bytes, joined_bytes, valid_utf8, value_row_ids

_WORD_END, _TEXT_END = b"\xff", b"\xfe"
# RE2 has no lookahead, which GPT-2's `\s+(?!\S)` needs: all white space but the last character of it is cut
# off before the words are.
_SPACES_BEFORE_SPACE = rf"([{WHITE_SPACE}]+)([{WHITE_SPACE}][^{WHITE_SPACE}])"
_WORD = rf"'s|'t|'re|'ve|'m|'ll|'d| ?\p{{L}}+| ?\p{{N}}+| ?[^{WHITE_SPACE}\p{{L}}\p{{N}}]+|[{WHITE_SPACE}]+"


class BytePairTokenizer(BaseTokenizer):
    """GPT-2's and RoBERTa's tokenizer as graph ops.

    Args:
      vocabulary: the `BytePairVocabulary`.

    Call arguments, returns: as for `BaseTokenizer`.

    Examples:
      >>> import tensorflow as tf
      >>> from kbert.tokenization.bpe.bpe_tokenizer import BytePairTokenizer
      >>> from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, BytePairVocabulary
      >>> tokens = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *BYTE_CHARACTERS, "ab", "Ġab"]
      >>> tokenizer = BytePairTokenizer(BytePairVocabulary(tokens, [("a", "b"), ("Ġ", "ab")]))
      >>> tokenizer.tokens(tokenizer(tf.constant(["ab abc"]))[0].numpy())
      ['ab', 'Ġab', 'c']
    """

    vocabulary: BytePairVocabulary

    def __init__(self, vocabulary: BytePairVocabulary):
        super().__init__(vocabulary)
        ids = vocabulary.ids
        self._word_end, self._text_end = len(vocabulary), len(vocabulary) + 1
        self._byte_symbols = np.array([ids[character] for character in BYTE_CHARACTERS], np.int32)
        self._byte_symbols[ord(_WORD_END)] = self._word_end
        self._byte_symbols[ord(_TEXT_END)] = self._text_end
        self._merge = PairMerger(
            ((ids[left], ids[right], ids[left + right]) for left, right in vocabulary.merges), self._word_end
        )
        tokens = vocabulary.tokens  # each character of a token is a byte
        self._lengths = np.array([len(token) for token in tokens], np.int32)
        self._left_stripped = np.array([len(token.lstrip(SPACE_CHARACTER)) for token in tokens], np.int32)
        self._right_stripped = np.array([len(token.rstrip(SPACE_CHARACTER)) for token in tokens], np.int32)

    def __call__(self, texts):
        return self._ids(self._symbols(valid_utf8(texts)))

    def tokenize_words(self, words):
        """As a call, for words that somebody else cut; each gets the space that stood before it in a text."""
        return self._ids(self._symbols(tf.strings.regex_replace(valid_utf8(words), "^[^ ]", r" \0")))

    def with_offsets(self, texts):
        """As a call, and where each piece stands in its text, in code points.

        `text[start:end]` in Python is the source of a piece without the spaces at its edges, where `text` is
        decoded with `errors="ignore"`. Pieces that are parts of one character each have all of its span. The
        span of a piece of spaces alone is empty and stands behind them. Words are what GPT-2's pattern cuts.
        """
        texts = valid_utf8(texts)
        symbols = self._symbols(texts)
        ids = self._ids(symbols)
        rows = value_row_ids(ids.row_splits)
        before = tf.cumsum(tf.strings.length(texts, unit="UTF8_CHAR"), exclusive=True)
        starts, ends = (spans - tf.gather(before, rows) for spans in self._spans(ids.flat_values, texts))
        words = self._words(symbols)
        words -= tf.gather(words, tf.gather(ids.row_splits, rows))
        return OffsetPieces(ids, *(ids.with_flat_values(values) for values in (starts, ends, words)))

    def _symbols(self, texts):
        """The symbols of all texts when nothing is left to merge: int32 [symbols]."""
        texts = tf.strings.regex_replace(texts, _SPACES_BEFORE_SPACE, rb"\1" + _WORD_END + rb"\2")
        texts = tf.strings.regex_replace(texts, _WORD, rb"\0" + _WORD_END)
        symbols = tf.gather(self._byte_symbols, joined_bytes(texts + _TEXT_END))
        # Two more, so that there are neighbours.
        return self._merge(tf.pad(symbols, [[2, 0]], constant_values=self._word_end))

    def _ids(self, symbols):
        is_piece = symbols < self._word_end
        pieces_before = tf.cumsum(tf.cast(is_piece, tf.int64))
        limits = tf.boolean_mask(pieces_before, tf.equal(symbols, self._text_end))
        return tf.RaggedTensor.from_row_splits(
            tf.boolean_mask(symbols, is_piece), tf.pad(limits, [[1, 0]]), validate=False
        )

    def _words(self, symbols):
        """The number of each piece's word, counted through the batch: int32 [pieces]."""
        is_piece = symbols < self._word_end
        is_first = tf.logical_and(is_piece[1:], tf.logical_not(is_piece[:-1]))
        return tf.boolean_mask(tf.cumsum(tf.cast(is_first, tf.int32)), is_piece[1:])

    def _spans(self, ids, texts):
        """Starts and ends of pieces in the code points of all texts together: int32 [pieces] each."""
        characters = characters_before_bytes(texts)
        lengths = tf.gather(self._lengths, ids)
        after = tf.cumsum(lengths)
        first = after - tf.gather(self._left_stripped, ids)
        last = tf.maximum(after - lengths + tf.gather(self._right_stripped, ids), first)
        ends = tf.gather(characters, last)
        starts = tf.gather(characters, tf.minimum(first + 1, tf.size(characters) - 1)) - 1
        return tf.minimum(starts, ends), ends
