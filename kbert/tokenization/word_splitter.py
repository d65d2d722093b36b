"""Text -> words: the original BERT's BasicTokenizer as graph ops.

Source of every rule: google-research/bert, tokenization.py, `BasicTokenizer`. TF-Text's own BERT
tokenizers are not used because they fold with NFKC and turn control characters into spaces, which gives
other ids. Every op here is registered by stock TF Serving (TF-Text 2.12.1).

Over all characters of Unicode 14 the words equal the original's under Python 3.11, but for 40 capitals
that came with Unicode 14 itself (35 of them Vithkuqi): the ICU in TensorFlow 2.21 does not lower them.
"""

import tensorflow as tf
import tensorflow_text as tf_text

_SPACES = r"[\t\n\r\p{Zs}]"  # `_is_whitespace`
_DROPPED = r"[\p{Cc}\p{Cf}\x{FFFD}]"  # `_is_control`, and the replacement character
# `_is_chinese_char`: the CJK ideograph blocks; Hangul and kana are not among them.
_IDEOGRAPH = (
    r"[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}"
    r"\x{2B740}-\x{2B81F}\x{2B820}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]"
)
_ACCENT = r"\p{Mn}"  # `_run_strip_accents`
_PUNCTUATION = r"[!-/:-@\[-`{-~\p{P}]"  # `_is_punctuation`: all ASCII symbols, and Unicode P*
_LINE_SEPARATORS = r"[\x{2028}\x{2029}]"  # not cleaned by the original, but split on by str.split


def split_words(texts: tf.Tensor, do_lower_case: bool) -> tf.RaggedTensor:
    """Splits texts into the words and punctuation marks that WordPiece sees.

    Args:
      texts: string tensor of shape [batch]; bytes that are not UTF-8 are ignored.
      do_lower_case: lower-case and strip accents.

    Returns:
      String RaggedTensor of shape [batch, (words)].
    """
    text = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="ignore")
    text = tf.strings.regex_replace(text, _SPACES, " ")
    text = tf.strings.regex_replace(text, _DROPPED, "")
    text = tf.strings.regex_replace(text, _IDEOGRAPH, r" \0 ")
    if do_lower_case:
        # The first, ASCII, pass shields I from a Turkish locale in the second, which honours it.
        text = tf.strings.lower(text)
        text = tf.strings.lower(text, encoding="utf-8")
        text = tf_text.normalize_utf8(text, "NFD")
        text = tf.strings.regex_replace(text, _ACCENT, "")
    text = tf.strings.regex_replace(text, _PUNCTUATION, r" \0 ")
    text = tf.strings.regex_replace(text, _LINE_SEPARATORS, " ")
    return tf.strings.split(text)
