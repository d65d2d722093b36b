"""Texts -> ids of byte-level BPE, in the graph. Core ops only.

Rules: GPT-2's encoder.py, as Hugging Face's package tokenizers has them (`ByteLevel`, `BPE`). A text is one
array of bytes; two bytes that are in no UTF-8 stand behind words and behind texts.

ModernBERT's differs twice: texts are normalized (by an op of TF-Text), and a run of spaces is one token. Its
spaces become symbols of their own, and merges of these make the token.
"""

import numpy as np
import tensorflow as tf

from kbert.tokenization.base_tokenizer import BaseTokenizer, OffsetTokens
from kbert.tokenization.bpe.bpe_merges import PairMerger
from kbert.tokenization.bpe.bpe_vocabulary import BYTE_CHARACTERS, SPACE_CHARACTER, BytePairVocabulary
from kbert.tokenization.character_classes import WHITE_SPACE
from kbert.tokenization.text_ops import compose_characters
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
        runs = vocabulary.space_runs
        self._space, self._space_of_run = ids[SPACE_CHARACTER], len(vocabulary)
        self._longest_run = max(runs, default=0)
        self._word_end, self._text_end = len(vocabulary) + 1, len(vocabulary) + 2
        self._byte_symbols = np.array([ids[character] for character in BYTE_CHARACTERS], np.int32)
        self._byte_symbols[ord(_WORD_END)] = self._word_end
        self._byte_symbols[ord(_TEXT_END)] = self._text_end
        merges = ((ids[left], ids[right], ids[left + right]) for left, right in vocabulary.merges)
        self._merge = PairMerger([*_run_merges({1: self._space_of_run} | runs), *merges], self._word_end)
        tokens = vocabulary.tokens  # each character of a token is a byte
        spaces = f"{SPACE_CHARACTER} "
        self._lengths = np.array([len(token) for token in tokens], np.int32)
        self._left_stripped = np.array([len(token.lstrip(spaces)) for token in tokens], np.int32)
        self._right_stripped = np.array([len(token.rstrip(spaces)) for token in tokens], np.int32)

    def __call__(self, texts):
        return self._ids(self._symbols(self._normalized(valid_utf8(texts))[0]))

    def tokenize_words(self, words, behind_space=True):
        """As a call, for words that somebody else cut; each gets the space that stood before it in a text."""
        words = valid_utf8(words)
        spaced = tf.strings.regex_replace(words, "^[^ ]", r" \0")
        return self(spaced if behind_space is True else tf.where(behind_space, spaced, words))

    def with_offsets(self, texts):
        """As a call, and where each piece stands in its text, in code points.

        `text[start:end]` in Python is the source of a piece without the spaces at its edges, where `text` is
        decoded with `errors="ignore"`. Pieces that are parts of one character each have all of its span. The
        span of a piece of spaces alone is empty and stands behind them. Words are what GPT-2's pattern cuts.
        """
        source = valid_utf8(texts)
        texts, find_source = self._normalized(source)
        symbols = self._symbols(texts)
        ids = self._ids(symbols)
        rows = value_row_ids(ids.row_splits)
        before = tf.cumsum(tf.strings.length(source, unit="UTF8_CHAR"), exclusive=True)
        spans = self._spans(ids.flat_values, texts)
        if find_source is not None:
            origins = _origins(source, texts, find_source)
            spans = [tf.gather(origins, edges) for edges in spans]
        starts, ends = (edges - tf.gather(before, rows) for edges in spans)
        words = self._words(symbols)
        words -= tf.gather(words, tf.gather(ids.row_splits, rows))
        return OffsetTokens(ids, *(ids.with_flat_values(values) for values in (starts, ends, words)))

    def _normalized(self, texts):
        """(texts, function that `compose_characters` gives, or None for texts as they are)"""
        return compose_characters(texts) if self.vocabulary.is_modernbert else (texts, None)

    def _symbols(self, texts):
        """The symbols of all texts when nothing is left to merge: int32 [symbols]."""
        if self._longest_run:
            run = f" {{2,{self._longest_run}}}"
            texts = tf.strings.regex_replace(texts, run, _WORD_END + rb"\0" + _WORD_END)
        texts = tf.strings.regex_replace(texts, _SPACES_BEFORE_SPACE, rb"\1" + _WORD_END + rb"\2")
        texts = tf.strings.regex_replace(texts, _WORD, rb"\0" + _WORD_END)
        symbols = tf.gather(self._byte_symbols, joined_bytes(texts + _TEXT_END))
        if self._longest_run:  # after the cut above, spaces stand side by side in runs alone
            is_space = tf.pad(tf.equal(symbols, self._space), [[1, 1]])
            in_run = tf.logical_and(is_space[1:-1], tf.logical_or(is_space[:-2], is_space[2:]))
            symbols = tf.where(in_run, self._space_of_run, symbols)
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


def _run_merges(symbols):
    """Merges that make one symbol of a run of spaces, in whatever order they come.

    Args:
      symbols: number of spaces -> the symbol of so many.
    """
    sizes = [(first + second, first, second) for first in symbols for second in symbols]
    # The shortest first: then no merge is late.
    return [
        (symbols[first], symbols[second], symbols[size])
        for size, first, second in sorted(sizes)
        if size in symbols
    ]


def _origins(source, texts, find_source):
    """Where each code point begins in the texts before: int32 [code points + 1], both counted through all."""
    _, starts = tf.strings.unicode_decode_with_offsets(texts, "UTF-8")
    # The op takes no row without an offset, so each gets one more.
    one_more = tf.zeros([tf.size(texts), 1], tf.int64)
    origins = find_source(tf.concat([starts, one_more], axis=1))[:, :-1]
    bytes_before = tf.cumsum(tf.cast(tf.strings.length(source), tf.int64), exclusive=True)
    joined = origins.flat_values + tf.gather(bytes_before, value_row_ids(origins.row_splits))
    characters = characters_before_bytes(source)
    return tf.concat([tf.gather(characters, joined), characters[-1:]], axis=0)
