"""Words -> WordPiece ids, in the graph."""

import tensorflow as tf

from kbert.tokenization.base_tokenizer import BaseTokenizer, OffsetTokens
from kbert.tokenization.text_ops import LongestMatch
from kbert.tokenization.vocabulary import Vocabulary
from kbert.tokenization.word_offsets import count_characters, spans, value_row_ids
from kbert.tokenization.word_splitter import split_words


class WordPieceTokenizer(BaseTokenizer):
    """The original BERT's FullTokenizer as graph ops: greedy longest match first over `split_words`.

    One instance serves record writing, live text, prediction and the exported graph, so they cannot
    disagree.

    Args:
      vocabulary: the `Vocabulary` with its rules.

    Call arguments:
      texts: string tensor of shape [batch].

    Returns:
      int32 RaggedTensor of shape [batch, (tokens)], without [CLS] and [SEP].

    Examples:
      >>> import tensorflow as tf
      >>> from kbert import Vocabulary, WordPieceTokenizer
      >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
      >>> WordPieceTokenizer(vocabulary)(tf.constant(["Playing chess"])).to_list()
      [[5, 6, 1]]
    """

    def __init__(self, vocabulary: Vocabulary):
        super().__init__(vocabulary)
        self._rules = vocabulary.rules
        self._unknown = vocabulary.special_tokens.unk
        self._longest_match = LongestMatch(
            vocabulary.tokens, self._unknown, self._rules.max_input_chars_per_word
        )
        # No word begins with ##: it is punctuation, and so split off.
        self._piece_characters = [len(token.removeprefix("##")) for token in vocabulary.tokens]

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        words = split_words(texts, **self._rules.splitting)
        return self._pieces(words, count_characters(words)).merge_dims(1, 2)

    def with_offsets(self, texts: tf.Tensor) -> OffsetTokens:
        """As a call, and where each token stands in its text, in code points.

        `text[start:end]` in Python is the source of a token, where `text` is decoded with `errors="ignore"`;
        for [UNK] it is the whole word. The tokens of a word lie side by side and cover its span. Only those
        that come from one character (a Hangul syllable is several when decomposed) each have all of its
        span. docs/tokenization.md has all rules.

        Args:
          texts: string tensor of shape [batch].

        Returns:
          `OffsetTokens`.

        Examples:
          >>> import tensorflow as tf
          >>> from kbert import Vocabulary, WordPieceTokenizer
          >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "play", "##ing"], True)
          >>> tokens = WordPieceTokenizer(vocabulary).with_offsets(tf.constant(["Playing chess"]))
          >>> tokens.ids.to_list(), tokens.words.to_list()
          ([[5, 6, 1]], [[0, 0, 1]])
          >>> tokens.starts.to_list(), tokens.ends.to_list()
          ([[0, 4, 8]], [[4, 7, 13]])
        """
        words = split_words(texts, **self._rules.splitting)
        characters = count_characters(words)
        tokens = self._pieces(words, characters)  # [batch, (words), (tokens)]
        ids = tokens.merge_dims(1, 2)

        word_ids = value_row_ids(tokens.values.row_splits)  # counted through the batch
        piece_characters = tf.where(
            ids.flat_values == self.vocabulary.unk_id,
            tf.gather(characters, word_ids),
            tf.gather(self._piece_characters, ids.flat_values),
        )
        starts, ends = spans(texts, self._rules, characters, ids, piece_characters, word_ids)
        first_words = tf.cast(tf.gather(words.row_splits, value_row_ids(ids.row_splits)), tf.int32)
        return OffsetTokens(ids, starts, ends, ids.with_flat_values(word_ids - first_words))

    def _pieces(self, words, characters):
        # The unknown token is whole in the vocabulary, and no word can be it: brackets are split off.
        flat = tf.where(characters > self._rules.max_input_chars_per_word, self._unknown, words.flat_values)
        return self._longest_match.tokenize(words.with_flat_values(flat))
