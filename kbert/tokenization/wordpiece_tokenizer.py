"""Words -> WordPiece ids, in the graph."""

import tensorflow as tf
import tensorflow_text as tf_text

from kbert.tokenization.vocabulary import MASK_TOKEN, Vocabulary
from kbert.tokenization.word_splitter import split_words

# tokenization.py, WordpieceTokenizer(max_input_chars_per_word=200): longer words become [UNK].
MAX_CHARACTERS_PER_WORD = 200


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
        longest_utf8_character = 4
        self._wordpiece = tf_text.FastWordpieceTokenizer(
            vocab=list(vocabulary.tokens),
            token_out_type=tf.int32,
            unknown_token="[UNK]",
            no_pretokenization=True,
            # The limit that counts is the one in characters, applied below; this one, in bytes, only has
            # to stay out of its way.
            max_bytes_per_word=longest_utf8_character * MAX_CHARACTERS_PER_WORD,
        )

    def __call__(self, texts: tf.Tensor) -> tf.RaggedTensor:
        words = split_words(texts, self.vocabulary.do_lower_case)
        # "[UNK]" is whole in the vocabulary, and no word can be it: brackets are split off.
        characters = tf.strings.length(words.flat_values, unit="UTF8_CHAR")
        flat = tf.where(characters > MAX_CHARACTERS_PER_WORD, "[UNK]", words.flat_values)
        pieces = self._wordpiece.tokenize(words.with_flat_values(flat))
        return pieces.merge_dims(1, 2)

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
