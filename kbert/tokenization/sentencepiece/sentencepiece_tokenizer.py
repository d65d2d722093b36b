"""Texts -> ids of a SentencePiece model, in the graph, by TF-Text's op."""

import re

import numpy as np
import tensorflow as tf

from kbert.late_tensorflow import traced_function
from kbert.tokenization.base_tokenizer import BaseTokenizer, OffsetTokens
from kbert.tokenization.sentencepiece.sentencepiece_vocabulary import (
    IN_NO_PIECE,
    WORD_START,
    SentencePieceVocabulary,
)
from kbert.tokenization.text_ops import sentencepiece_ops
from kbert.tokenization.word_offsets import characters_before_bytes, valid_utf8, value_row_ids


class SentencePieceTokenizer(BaseTokenizer):
    """A SentencePiece model as graph ops.

    Args:
      vocabulary: the `SentencePieceVocabulary`.

    Call arguments, returns: as for `BaseTokenizer`.
    """

    vocabulary: SentencePieceVocabulary

    def __init__(self, vocabulary: SentencePieceVocabulary):
        super().__init__(vocabulary)
        # One function, so that a graph holds the model once, however often it calls this.
        self._pieces = traced_function(self._model_pieces, [tf.TensorSpec([None], tf.string)])
        tokens = vocabulary.tokens
        self._begins_word = np.array([token.startswith(WORD_START) for token in tokens], np.int32)
        self._sizes = np.array([len(token.replace(WORD_START, "")) for token in tokens], np.int32)
        self._sizes[vocabulary.unk_id] = 1  # or more

    def __call__(self, texts):
        return self._pieces(valid_utf8(texts))[0]

    def tokenize_words(self, words, behind_space=True):
        """As a call, for words that somebody else cut: the first piece is ▁北京 behind a space, else 北京."""
        words = valid_utf8(words)
        ids = self(words)
        if behind_space is True:
            return ids
        # An unknown character at the beginning would be one piece with that before it.
        is_known = tf.reduce_all(tf.not_equal(ids, self.vocabulary.unk_id), axis=1)
        before = tf.where(tf.logical_and(is_known, tf.logical_not(behind_space)), IN_NO_PIECE, "")
        ids, num_before = self(before + words), self(before).row_lengths()
        return tf.ragged.boolean_mask(ids, tf.ragged.range(ids.row_lengths()) >= num_before[:, tf.newaxis])

    def have_space_before_masks(self, texts):
        """Which texts have white space before a literal mask token, or begin with it: SentencePiece puts a
        space before each text. Bool tensor of shape [batch]."""
        mask = re.escape(self.vocabulary.special_tokens.mask)
        is_first = tf.strings.regex_full_match(texts, f"(?s){mask}.*")
        return tf.logical_or(super().have_space_before_masks(texts), is_first)

    def with_offsets(self, texts):
        """As a call, and where each piece stands in its text, in code points.

        `text[start:end]` in Python is the source of a piece without the space before it, where `text` is
        decoded with `errors="ignore"`. Pieces that are parts of one character (`½` is `1`, `⁄` and `2`) each
        have all of its span. The span of a piece that is a space alone is empty. A word begins with a piece
        that has SentencePiece's mark for a space.
        """
        texts = valid_utf8(texts)
        ids, starts, ends = self._pieces(texts)
        rows = value_row_ids(ids.row_splits)
        first_bytes = tf.gather(tf.cumsum(tf.strings.length(texts), exclusive=True), rows)
        characters = characters_before_bytes(texts)
        code_points = tf.strings.unicode_decode(texts, "UTF-8")
        splits = tf.cast(code_points.row_splits, tf.int32)
        starts, ends = self._spans(
            ids.flat_values,
            tf.gather(characters, first_bytes + starts),
            tf.gather(characters, first_bytes + ends),
            self._normalized_sizes(code_points.flat_values),
        )
        ends = tf.minimum(ends, tf.gather(splits, rows + 1))
        words = tf.cumsum(tf.gather(self._begins_word, ids.flat_values))
        words -= tf.gather(words, tf.gather(ids.row_splits, rows))
        starts, ends = starts - tf.gather(splits, rows), ends - tf.gather(splits, rows)
        return OffsetTokens(ids, *(ids.with_flat_values(values) for values in (starts, ends, words)))

    def _model_pieces(self, texts):
        """(ids, and the first byte and the one after the last of each piece: both flat)."""
        ops = sentencepiece_ops()
        # Kernels with one name share one model in memory.
        handle = ops.sentencepiece_op(
            model=self.vocabulary.model, shared_name=f"sentencepiece_{self.vocabulary.fingerprint}"
        )
        pieces, row_splits, starts, ends = ops.sentencepiece_tokenize_with_offsets_op(
            handle, texts, nbest_size=0, alpha=1.0, add_bos=False, add_eos=False, reverse=False
        )
        if self.vocabulary.has_xlmr_ids:
            pieces = tf.where(tf.equal(pieces, 0), self.vocabulary.unk_id, pieces + 1)
        ids = tf.RaggedTensor.from_row_splits(pieces, row_splits, validate=False)
        return ids, tf.cast(starts, tf.int32), tf.cast(ends, tf.int32)

    def _normalized_sizes(self, code_points):
        """How many characters of pieces each code point becomes, 0 for spaces: int32, of the same shape."""
        different, indices = tf.unique(code_points)
        ids = self(tf.strings.unicode_encode(different[:, tf.newaxis], "UTF-8"))
        sizes = tf.reduce_sum(ids.with_flat_values(tf.gather(self._sizes, ids.flat_values)), axis=1)
        return tf.gather(sizes, indices)

    def _spans(self, ids, starts, ends, sizes):
        """The spans without spaces and with all of their characters.

        Args:
          ids: int32 [pieces].
          starts, ends: int32 [pieces], in code points of all texts. The op ends the span of a piece before a
            character that goes on in the next piece.
          sizes: `_normalized_sizes` of the code points.
        """
        visible = tf.concat([tf.where(sizes > 0)[:, 0], [tf.size(sizes, tf.int64)]], axis=0)
        visible = tf.cast(visible, tf.int32)
        firsts = tf.gather(visible, tf.searchsorted(visible, starts))
        before = tf.pad(tf.cumsum(sizes), [[1, 0]])
        whole = tf.gather(before, ends) - tf.gather(before, firsts)
        piece_sizes = tf.gather(self._sizes, ids)
        ends_inside = tf.cast(piece_sizes > whole, tf.int32)
        is_space = tf.equal(piece_sizes, 0)
        return (
            tf.where(is_space, ends, firsts),
            tf.where(is_space, ends, tf.maximum(ends + ends_inside, firsts + 1)),
        )
