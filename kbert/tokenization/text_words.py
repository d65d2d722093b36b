"""Raw text -> the words that a person would number, with their positions. Core ops only.

These are the words that labels of words speak of, such as those of CoNLL-2003: "U.S." is one of them, and
"3,000" and "O'Brien". `split_words` cuts finer, for WordPiece, which then cuts these words further.
"""

from typing import NamedTuple

import tensorflow as tf

from kbert.tokenization.character_classes import DROPPED, IDEOGRAPHS, PUNCTUATION, SPACES

_SPACES = f" {SPACES}"
_MARKS = rf"{PUNCTUATION}\p{{S}}"  # and all other symbols, such as the euro sign
_BEHIND = r"\p{M}*"  # accents, and what says how the character before is drawn: the red heart of ❤️
_LETTER = f"[^{_SPACES}{IDEOGRAPHS}{_MARKS}]"  # digits, accents and control characters too
_RUN = rf"(?:\p{{Nd}}+(?:[,٬٫]\p{{Nd}}+)+{_LETTER}*|{_LETTER}+)"  # a comma holds numbers together: 3,000
# Behind these a word goes on: O'Brien, Ankara'da, col·lecció; the last three are Armenian marks of questions
# and stress. So it does before a Hebrew letter behind the signs of abbreviations (Unicode's annex 29).
_BETWEEN_WORDS = r"-\x{2010}\x{2011}./:&_@*+="
_JOINING = rf"{_BETWEEN_WORDS}\x{{B7}}‘'’\x{{55B}}\x{{55C}}\x{{55E}}"
_HEBREW_SIGN = r"[\"\x{5F3}\x{5F4}][\x{5D0}-\x{5EA}]"
# The first that fits is taken, and is as long as it can be.
_WORDS = (
    f"[{IDEOGRAPHS}]{_BEHIND}",
    rf"(?:\p{{L}}\.){{2,}}(?:[-‘'’]{_RUN})*",  # U.S., a.m., U.N.-backed
    r"\p{Lu}\.\B",  # the initial of a name, as in "J. Smith"
    r"\p{Lu}{1,3}\p{Sc}",  # US$
    r"[+.]\p{Nd}+(?:[.,:]\p{Nd}+)*",  # +44, .500
    rf"{_RUN}(?:(?:[{_JOINING}]|://){_RUN}|{_HEBREW_SIGN}{_LETTER}*)*",
    r"\.{2,}|-{2,}|\*{2,}|_{2,}|={2,}|'{2}|`{2}",
    f"[{_MARKS}]{_BEHIND}",
)
# WordPiece does not see these characters (the last ones without accents), so a word of nothing else is none.
_NO_WORD = rf"[{_SPACES}{DROPPED}\p{{Mn}}]*"
# What is put between words, and what stands for it where a text has it. BERT drops both.
_CUT, _INSTEAD_OF_CUT = "\x1e", "\x1f"
# Germany's and Germany 's are two words, as in the Penn Treebank; and Moody's/S&P is four.
_LETTERS_OF_ENDINGS = r"(?:[sSmMdD]|[rR][eE]|[vV][eE]|[lL][lL])\p{Cf}*"
_ENDING = rf"([‘'’]){_CUT}?({_LETTERS_OF_ENDINGS}){_CUT}"
_ENDING_INSIDE = rf"([‘'’]{_LETTERS_OF_ENDINGS})([{_BETWEEN_WORDS}])"


class TextWords(NamedTuple):
    """The words of texts, all RaggedTensors of shape [batch, (words)].

    Args:
      words: string; they are not normalized.
      starts, ends: int32, where each word begins and ends in its text, in code points.
    """

    words: tf.RaggedTensor
    starts: tf.RaggedTensor
    ends: tf.RaggedTensor


def find_words(texts: tf.Tensor) -> TextWords:
    """The words of texts: what stands between white space, without the punctuation at its edges.

    Each mark at an edge is a word of its own. Marks inside stay (well-known, 1996-08-30, AT&T), and so do the
    full stops of initials and of abbreviations such as U.S.; those of others (Corp.) do not. The endings 's,
    're, 've, 'll, 'm and 'd are words, but no other letters behind an apostrophe. Each ideograph is a word.

    Args:
      texts: string tensor of shape [batch]; bytes that are not UTF-8 are ignored.

    Returns:
      `TextWords`; in Python the word is `text[start:end]`.
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="ignore")
    safe = tf.strings.regex_replace(texts, _CUT, _INSTEAD_OF_CUT)
    cut = tf.strings.regex_replace(safe, f"[{_SPACES}]+|{'|'.join(_WORDS)}", rf"\0{_CUT}")
    cut = tf.strings.regex_replace(cut, _ENDING_INSIDE, rf"{_CUT}\1{_CUT}\2{_CUT}")
    cut = tf.strings.regex_replace(cut, _ENDING, rf"{_CUT}\1\2{_CUT}")
    parts = tf.strings.split(cut, _CUT)  # words and white space: all that the text is made of
    lengths = parts.with_flat_values(tf.strings.length(parts.flat_values, unit="UTF8_CHAR"))
    ends = tf.cumsum(lengths.flat_values)
    before = tf.gather(tf.pad(ends, [[1, 0]]), parts.row_starts())  # code points of the texts before
    ends = lengths.with_flat_values(ends - tf.gather(before, parts.value_rowids()))
    is_word = tf.logical_not(tf.strings.regex_full_match(parts.flat_values, _NO_WORD))
    keep = parts.with_flat_values(is_word)
    words, starts, ends = (tf.ragged.boolean_mask(values, keep) for values in (parts, ends - lengths, ends))
    return TextWords(words, starts, ends)
