"""Words -> WordPiece ids, in the graph."""

from typing import NamedTuple

import tensorflow as tf

from kbert.tokenization.text_ops import LongestMatch
from kbert.tokenization.vocabulary import MASK_TOKEN, MAX_CHARACTERS_PER_WORD, Vocabulary
from kbert.tokenization.word_offsets import count_characters, spans, value_row_ids
from kbert.tokenization.word_splitter import split_words


class OffsetPieces(NamedTuple):
    """Pieces with their positions in the text, as `WordPieceTokenizer.with_offsets` gives them.

    Attributes:
      ids: int32 RaggedTensor of shape [batch, (pieces)].
      starts: int32 RaggedTensor of shape [batch, (pieces)]: the first code point of the piece in its text.
      ends: int32 RaggedTensor of shape [batch, (pieces)]: the code point after its last.
      words: int32 RaggedTensor of shape [batch, (pieces)]: which word of its text the piece is in, counted
        from 0 as `split_words` gives them. The first piece of a word is the one whose word is not that of the
        piece before.
    """

    ids: tf.RaggedTensor
    starts: tf.RaggedTensor
    ends: tf.RaggedTensor
    words: tf.RaggedTensor


class WordPieceTokenizer:
    """The original BERT's FullTokenizer as graph ops: greedy longest match first over `split_words`.

    One instance serves record writing, live text, prediction and the exported graph, so they cannot
    disagree. Special tokens written out in a text (`[MASK]`) are ordinary characters, as in the original.

    Args:
      vocabulary: the `Vocabulary`; its casing decides lower-casing and accents.

    Call arguments:
      texts: string tensor of shape [batch].

    Returns:
      int32 RaggedTensor of shape [batch, (pieces)], without [CLS] and [SEP].

    Example:
      >>> import tensorflow as tf
      >>> from kbert import Vocabulary, WordPieceTokenizer
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> WordPieceTokenizer(vocabulary)(tf.constant(["Playing chess"])).to_list()
      [[5, 6, 1]]
    """

    def __init__(self, vocabulary: Vocabulary):
        self.vocabulary = vocabulary
        self._longest_match = LongestMatch(vocabulary.tokens, "[UNK]")
        # No word begins with ##: it is punctuation, and so split off.
        self._piece_characters = [len(token.removeprefix("##")) for token in vocabulary.tokens]

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        words = split_words(texts, self.vocabulary.do_lower_case)
        return self._pieces(words, count_characters(words)).merge_dims(1, 2)

    def with_offsets(self, texts: tf.Tensor) -> OffsetPieces:
        """As a call, and where each piece stands in its text, in code points.

        `text[start:end]` in Python is the source of a piece, where `text` is decoded with `errors="ignore"`;
        for [UNK] it is the whole word. The pieces of a word lie side by side and cover its span. Only those
        that come from one character (a Hangul syllable is several when decomposed) each have all of its
        span. docs/tokenization.md has all rules.

        Args:
          texts: string tensor of shape [batch].

        Returns:
          `OffsetPieces`.

        Example:
          >>> import tensorflow as tf
          >>> from kbert import Vocabulary, WordPieceTokenizer
          >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
          >>> pieces = WordPieceTokenizer(vocabulary).with_offsets(tf.constant(["Playing chess"]))
          >>> pieces.ids.to_list(), pieces.words.to_list()
          ([[5, 6, 1]], [[0, 0, 1]])
          >>> pieces.starts.to_list(), pieces.ends.to_list()
          ([[0, 4, 8]], [[4, 7, 13]])
        """
        do_lower_case = self.vocabulary.do_lower_case
        words = split_words(texts, do_lower_case)
        characters = count_characters(words)
        pieces = self._pieces(words, characters)  # [batch, (words), (pieces)]
        ids = pieces.merge_dims(1, 2)

        word_ids = value_row_ids(pieces.values.row_splits)  # counted through the batch
        piece_characters = tf.where(
            ids.flat_values == self.vocabulary.unk_id,
            tf.gather(characters, word_ids),
            tf.gather(self._piece_characters, ids.flat_values),
        )
        starts, ends = spans(texts, do_lower_case, characters, ids, piece_characters, word_ids)
        first_words = tf.cast(tf.gather(words.row_splits, value_row_ids(ids.row_splits)), tf.int32)
        return OffsetPieces(ids, starts, ends, ids.with_flat_values(word_ids - first_words))

    def _pieces(self, words, characters):
        # "[UNK]" is whole in the vocabulary, and no word can be it: brackets are split off.
        flat = tf.where(characters > MAX_CHARACTERS_PER_WORD, "[UNK]", words.flat_values)
        return self._longest_match.tokenize(words.with_flat_values(flat))

    def tokenize_with_masks(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """As a call, but each literal `[MASK]` in a text becomes the mask token (for filling masks)."""
        parts = tf.strings.split(texts, MASK_TOKEN)  # [batch, (parts)]
        pieces = self(parts.flat_values)  # [all parts, (pieces)]
        masks = tf.fill([pieces.nrows(), 1], tf.cast(self.vocabulary.mask_id, tf.int32))
        marked = tf.concat([pieces, tf.RaggedTensor.from_tensor(masks)], axis=1)
        joined = parts.with_flat_values(marked).merge_dims(1, 2)
        return joined[:, :-1]  # no mask follows the last part

    def tokens(self, ids) -> list[str]:
        """The pieces of a sequence of ids, for people to read."""
        return [self.vocabulary.tokens[index] for index in ids]
