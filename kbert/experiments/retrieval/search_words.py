"""Text -> the words that BM25 counts, in any script."""

import itertools
import re
import unicodedata

from kbert.input_pipelines.repeated_rows import in_one_form
from kbert.tokenization.character_classes import IDEOGRAPHS, UNSPACED_LETTERS, in_python

# Those of scripts that live: a class with characters beyond U+FFFF takes ten times as long.
_MARKS = "".join(sign for sign in map(chr, range(1 << 16)) if unicodedata.category(sign)[0] == "M")
_UNSPACED = f"[{in_python(UNSPACED_LETTERS + IDEOGRAPHS)}]"
_RUN = re.compile(f"{_UNSPACED}+")
_BREAK = "\u200b"  # between words that no blank parts, in Khmer and Thai
_SYLLABLES = "\uac00-\ud7a3\u1200-\u137f\ua000-\ua48c"  # Hangul, Ethiopic, Yi: many a word is one
# Letters and digits, with the accents and vowel signs of theirs; a syllable, or a letter of scripts without
# blanks, alone.
WORD = rf"[\w{_MARKS}]{{2,}}|(?=\w)(?:{_UNSPACED}|[{_SYLLABLES}])"


def with_blanks(text: str) -> str:
    """The text in Unicode's form NFKC, with blanks around each two characters that follow each other, or one
    that stands alone, in scripts that write none between words: what Lucene's CJKAnalyzer makes of Chinese.
    """

    def words(run):
        return f" {' '.join(map(''.join, itertools.pairwise(run[0]))) or run[0]} "

    if not text.isascii():
        text = unicodedata.normalize("NFKC", in_one_form(text.replace(_BREAK, " ")))
        text = text.lower().replace("i\u0307", "i")  # İ as Lucene lowers it, and as people type it
    return _RUN.sub(words, text)
