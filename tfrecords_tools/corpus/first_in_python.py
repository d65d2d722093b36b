"""Texts -> ids on the host: the first of them without TensorFlow, which takes seconds to load."""

import functools
from collections.abc import Callable

from kbert.tokenization import tokenizer as tokenizers
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.python import wordpiece_tokenizer
from kbert.tokenization.vocabulary import Vocabulary

Tokenize = Callable[[list[bytes]], list[list[int]]]


def first_in_python(vocabulary: BaseVocabulary, num_bytes: int) -> Tokenize:
    """The function from texts to the ids of each; bytes that are not UTF-8 are ignored.

    Args:
      vocabulary: of any kind; Python cuts WordPieces alone.
      num_bytes: how much text is cut in Python before the graph is built.
    """
    plain, left = None, num_bytes
    if isinstance(vocabulary, Vocabulary):
        plain = wordpiece_tokenizer.WordPieceTokenizer(vocabulary)
    graph = functools.cache(lambda: _graph(vocabulary))

    def tokenize(texts):
        nonlocal left
        left -= sum(map(len, texts))
        if plain is None or left < 0:
            return graph()(texts)
        return [plain(text.decode("utf-8", errors="ignore")) for text in texts]

    return tokenize


def _graph(vocabulary):
    import tensorflow as tf  # late: --help and a few lines need none of it

    texts = [tf.TensorSpec([None], tf.string)]
    tokenize = tf.function(tokenizers.build_tokenizer(vocabulary), input_signature=texts, autograph=False)
    return lambda texts: tokenize(tf.constant(texts, tf.string)).to_list()
