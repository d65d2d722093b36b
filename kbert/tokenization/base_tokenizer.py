"""What the tokenizers of all three kinds of vocabulary do, in the graph."""

import re
from typing import NamedTuple

import tensorflow as tf

from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.character_classes import WHITE_SPACE


class OffsetTokens(NamedTuple):
    """Tokens with their positions in the text, as a tokenizer's `with_offsets` gives them.

    Attributes:
      ids: int32 RaggedTensor of shape [batch, (tokens)].
      starts: int32 RaggedTensor of shape [batch, (tokens)]: the first code point of the token in its text.
      ends: int32 RaggedTensor of shape [batch, (tokens)]: the code point after its last.
      words: int32 RaggedTensor of shape [batch, (tokens)]: which word of its text the token is in, counted
        from 0 as the tokenizer splits words. The first token of a word is the one whose word is not that of
        the token before.
    """

    ids: tf.RaggedTensor
    starts: tf.RaggedTensor
    ends: tf.RaggedTensor
    words: tf.RaggedTensor


class BaseTokenizer:
    """Texts -> ids without special tokens.

    Special tokens written out in a text (`[MASK]`) are ordinary characters, as in the original BERT.

    Args:
      vocabulary: the `BaseVocabulary`.

    Call arguments:
      texts: string tensor of shape [batch]; bytes that are not UTF-8 are ignored.

    Returns:
      int32 RaggedTensor of shape [batch, (tokens)].
    """

    def __init__(self, vocabulary: BaseVocabulary):
        self.vocabulary = vocabulary

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        raise NotImplementedError

    def with_offsets(self, texts: tf.Tensor) -> OffsetTokens:
        """As a call, and where each token stands in its text, in code points."""
        raise NotImplementedError

    def tokenize_words(self, words: tf.Tensor, behind_space: tf.Tensor | bool = True) -> tf.RaggedTensor:
        """As a call, for words that somebody else cut.

        Args:
          words: string tensor of shape [words].
          behind_space: whether white space stands before them in their texts, one bool or one for each.
        """
        return self(words)

    def tokenize_with_masks(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """As a call, but each literal mask token in a text becomes its id (for filling masks).

        White space before it is dropped, as by Hugging Face's `<mask>` (`lstrip`); WordPiece drops it anyway.
        """
        mask = self.vocabulary.special_tokens.mask
        parts = tf.strings.split(self._without_space_before_masks(texts), mask)  # [batch, (parts)]
        tokens = self(parts.flat_values)  # [all parts, (tokens)]
        masks = tf.fill([tokens.nrows(), 1], tf.cast(self.vocabulary.mask_id, tf.int32))
        marked = tf.concat([tokens, tf.RaggedTensor.from_tensor(masks)], axis=1)
        joined = parts.with_flat_values(marked).merge_dims(1, 2)
        return joined[:, :-1]  # no mask follows the last part

    def have_space_before_masks(self, texts: tf.Tensor) -> tf.Tensor:
        """Which texts have white space before a literal mask token: bool tensor of shape [batch]."""
        return tf.not_equal(texts, self._without_space_before_masks(texts))

    def _without_space_before_masks(self, texts):
        mask = re.escape(self.vocabulary.special_tokens.mask)
        return tf.strings.regex_replace(texts, f"[{WHITE_SPACE}]+({mask})", r"\1")

    def tokens(self, ids) -> list[str]:
        """The tokens of a sequence of ids, for people to read."""
        return [self.vocabulary.tokens[index] for index in ids]
