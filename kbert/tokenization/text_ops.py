"""The steps of tokenizers that TensorFlow's core has no op for, by TF-Text or by several core ops.

TF-Text is faster. It is imported here alone, when the first text is tokenized. Where it cannot be imported,
or is not wanted in an export, ops of the core give the same ids of BERT's tokenizer.
"""

import contextlib
import functools
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType

import tensorflow as tf
from absl import logging

from kbert.tokenization.core_ops.core_wordpiece import CoreWordpieceTokenizer
from kbert.tokenization.core_ops.decomposition import decompose

_LONGEST_UTF8_CHARACTER = 4
_core_wanted = ContextVar("core_wanted", default=False)


@contextlib.contextmanager
def core_ops(wanted: bool = True):
    """Whether graphs that are traced inside have no op of TF-Text."""
    token = _core_wanted.set(wanted)
    try:
        yield
    finally:
        _core_wanted.reset(token)


@functools.cache
def import_tf_text() -> ModuleType | None:
    """TF-Text, whose ops TensorFlow knows from now on; None, with a line in the log, where it is not."""
    try:
        import tensorflow_text
    # The second: it is there, but was built for another TensorFlow.
    except (ImportError, tf.errors.NotFoundError) as error:
        logging.warning(
            "TF-Text cannot be imported (%s): texts are tokenized with ops of TensorFlow's core. The ids are "
            "the same; it takes two to three times as long.",
            str(error).partition("\n")[0],
        )
        return None
    return tensorflow_text


def uses_core_ops() -> bool:
    """Whether what is traced now has no op of TF-Text."""
    return _core_wanted.get() or import_tf_text() is None


def sentencepiece_ops() -> ModuleType:
    """TF-Text's ops of SentencePiece, which ops of the core cannot replace.

    Raises:
      ValueError: where TF-Text cannot be imported, or its ops are not wanted.
    """
    if uses_core_ops():
        raise ValueError(
            "a SentencePiece model needs the ops of TF-Text: install the tensorflow-text of "
            "TensorFlow's version, and leave --text_ops=core out."
        )
    from tensorflow_text.python.ops.sentencepiece_tokenizer import gen_sentencepiece_tokenizer

    return gen_sentencepiece_tokenizer


def decompose_characters(texts: tf.Tensor) -> tf.Tensor:
    """NFD of texts. The accents that are dropped next may be left out.

    Args:
      texts: string tensor of shape [batch], UTF-8.
    """
    return decompose(texts) if uses_core_ops() else import_tf_text().normalize_utf8(texts, "NFD")


def compose_characters(texts: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    """NFC of texts, and where it came from.

    Args:
      texts: string tensor of shape [batch], UTF-8.

    Returns:
      (texts, function): from int64 byte offsets, a RaggedTensor of shape [batch, (offsets)], to those of the
      texts before.

    Raises:
      ValueError: where TF-Text cannot be imported, or its ops are not wanted.
    """
    if uses_core_ops():
        raise ValueError(
            "texts of ModernBERT's tokenizer are normalized (NFC) by ops of TF-Text; expected a TF-Text that "
            "can be imported, and not --text_ops=core. Install tensorflow-text of TensorFlow's version, or "
            "leave the flag out."
        )
    tf_text = import_tf_text()
    composed, offsets_map = tf_text.normalize_utf8_with_offsets_map(texts, "NFC")
    return composed, lambda offsets: tf_text.find_source_offsets(offsets_map, offsets)


class LongestMatch:
    """Words -> WordPiece ids, greedy longest match first.

    Args:
      tokens: the pieces in id order.
      unknown_token: the piece of words that no pieces make.
      longest_word: in characters; the caller makes the unknown token of longer words.
    """

    def __init__(self, tokens, unknown_token: str, longest_word: int):
        self._tokens, self._unknown_token = list(tokens), unknown_token
        self._longest_word = longest_word

    def tokenize(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """String RaggedTensor of shape [batch, (words)] -> int32 RaggedTensor [batch, (words), (pieces)]."""
        return (self._core if uses_core_ops() else self._tf_text).tokenize(words)

    @functools.cached_property
    def _core(self):
        with tf.init_scope():  # its tables stay when the function that is traced now is gone
            return CoreWordpieceTokenizer(self._tokens, self._unknown_token)

    @functools.cached_property
    def _tf_text(self):
        with tf.init_scope():
            return import_tf_text().FastWordpieceTokenizer(
                vocab=self._tokens,
                token_out_type=tf.int32,
                unknown_token=self._unknown_token,
                no_pretokenization=True,
                # The limit that counts is that in characters, which the caller applies; this one, in bytes,
                # only has to stay out of its way.
                max_bytes_per_word=max(
                    _LONGEST_UTF8_CHARACTER * self._longest_word, len(self._unknown_token.encode())
                ),
            )
