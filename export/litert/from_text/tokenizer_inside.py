"""Texts -> token ids with the ops that TF-Text has for LiteRT: they do not keep all of BERT's rules.

The exact rules of kbert/tokenization need ops that LiteRT knows neither by itself nor from TF-Text. TF-Text's
FastBertTokenizer folds compatibility characters and case (NFKC), and makes controls spaces.
"""

import tensorflow as tf
import tensorflow_text as tf_text

from kbert.tokenization.segment_packer import SegmentPacker
from kbert.tokenization.vocabulary import Vocabulary

# What a file with `TokenizerInside` needs beside LiteRT's own ops; TF-Text's kernels for LiteRT have them.
CUSTOM_OPS = ("FastBertNormalize", "FastWordpieceTokenizeWithOffsets", "RaggedTensorToTensor")
MAX_BYTES_PER_WORD = 200  # BERT's limit is 200 characters; of ASCII that is the same


class TokenizerInside:
    """Tokenizes and packs single texts or pairs with ops that convert to LiteRT.

    Args:
      vocabulary: the `Vocabulary` with its casing.
      max_seq_length: the length of the rows.

    Call arguments:
      text: string tensor of shape [batch].
      text_pair: the second texts, in the same form, or None.

    Returns:
      dict of int32 tensors of shape [batch, max_seq_length]: input_ids, input_mask, segment_ids.
    """

    def __init__(self, vocabulary: Vocabulary, max_seq_length: int):
        self._tokenizer = tf_text.FastBertTokenizer(
            vocab=list(vocabulary.tokens),
            token_out_type=tf.int32,
            unknown_token="[UNK]",
            max_bytes_per_word=MAX_BYTES_PER_WORD,
            lower_case_nfd_strip_accents=vocabulary.do_lower_case,
        )
        self._packer = SegmentPacker(vocabulary, max_seq_length)

    def __call__(self, text, text_pair=None) -> dict:
        second = None if text_pair is None else self._tokenizer.tokenize(text_pair)
        return self._packer(self._tokenizer.tokenize(text), second)
