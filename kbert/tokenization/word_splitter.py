"""Text -> words: the original BERT's BasicTokenizer as graph ops.

Source of every rule: google-research/bert, tokenization.py, `BasicTokenizer`. TF-Text's own BERT
tokenizers are not used because they fold with NFKC and turn control characters into spaces, which gives
other ids. Every op here is registered by stock TF Serving (TF-Text 2.12.1).

The words equal the original's but for characters on which Python's Unicode tables and those of TensorFlow's
RE2 and ICU differ. For Python 3.11 and TensorFlow 2.21 these are, of the characters that the former knows,
40 capitals that came with Unicode 14 (docs/tokenization.md has the rest).
"""

import tensorflow as tf

from kbert.forked import require_own_tensorflow
from kbert.tokenization.character_classes import DROPPED, IDEOGRAPHS, PUNCTUATION, SPACES
from kbert.tokenization.core_ops.other_rows import change_other_rows
from kbert.tokenization.text_ops import decompose_characters
from kbert.tokenization.wordpiece_rules import WordPieceRules

# Rows of these characters alone, most rows of English, need only ASCII lower-casing and the spaces around
# punctuation: ASCII without controls, and the dashes, quotes, bullets and dots of U+2010 to U+2027.
_PLAIN_ROW = r"[\t\n\r -~\x{2010}-\x{2027}]*"
_VALID_ROW = r"[\x00-\x{D7FF}\x{E000}-\x{10FFFF}]*"  # RE2 matches well-formed UTF-8 only
_SPACES, _DROPPED = f"[{SPACES}]", f"[{DROPPED}]"
_IDEOGRAPH, _PUNCTUATION = f"[{IDEOGRAPHS}]", f"[{PUNCTUATION}]"
_ACCENT = r"\p{Mn}"  # `_run_strip_accents`
# ICU lowers these in another way where the machine speaks Turkish, Azeri or Lithuanian (Unicode's
# SpecialCasing.txt). The ways differ in accents alone.
_LOWERED_BY_LOCALE = {"İ": "i\u0307", "Ì": "ì", "Í": "í", "Ĩ": "ĩ", "Į": "į"}


def split_words(
    texts: tf.Tensor,
    do_lower_case: bool,
    strip_accents: bool | None = None,
    tokenize_chinese_chars: bool = True,
) -> tf.RaggedTensor:
    """Splits texts into the words and punctuation marks that WordPiece sees.

    Args:
      texts: string tensor of shape [batch]; bytes that are not UTF-8 are ignored.
      do_lower_case, strip_accents, tokenize_chinese_chars: see `WordPieceRules`.

    Returns:
      String RaggedTensor of shape [batch, (words)].
    """
    require_own_tensorflow()
    rules = WordPieceRules(do_lower_case, strip_accents, tokenize_chinese_chars)
    if do_lower_case:
        # This ASCII pass also shields I and J from the machine's locale, which that in `_normalize` honours.
        texts = tf.strings.lower(texts)
    texts = change_other_rows(texts, _PLAIN_ROW, lambda rows: _normalize(rows, rules))
    texts = tf.strings.regex_replace(texts, _PUNCTUATION, r" \0 ")
    return tf.strings.split(texts)  # at ASCII white space


def is_white_space(characters: tf.Tensor) -> tf.Tensor:
    """Whether words end at each of these characters, which no word keeps: bool, of the same shape."""
    return tf.strings.regex_full_match(characters, f" |{_SPACES}")


def is_accent(characters: tf.Tensor) -> tf.Tensor:
    """Whether each of these characters is one that stripping accents drops: bool, of the same shape."""
    return tf.strings.regex_full_match(characters, _ACCENT)


def _normalize(texts, rules):
    """Everything that characters outside of `_PLAIN_ROW` need but the spaces around punctuation."""
    text = change_other_rows(
        texts,
        _VALID_ROW,
        lambda rows: tf.strings.unicode_transcode(rows, "UTF-8", "UTF-8", errors="ignore"),
    )
    text = tf.strings.regex_replace(text, _SPACES, " ")
    text = tf.strings.regex_replace(text, _DROPPED, "")
    if rules.tokenize_chinese_chars:
        text = tf.strings.regex_replace(text, _IDEOGRAPH, r" \0 ")
    if rules.do_lower_case and not rules.strip_accents:
        for capital, small in _LOWERED_BY_LOCALE.items():
            text = tf.strings.regex_replace(text, capital, small)
    if rules.do_lower_case:
        text = tf.strings.lower(text, encoding="utf-8")
    if rules.strip_accents:
        text = decompose_characters(text)
        text = tf.strings.regex_replace(text, _ACCENT, "")
    return text
