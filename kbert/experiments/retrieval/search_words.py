"""Text -> the words that BM25 counts, in any script."""

import itertools
import re
import unicodedata

from kbert.tokenization.character_classes import IDEOGRAPHS

# Those of scripts that live: a class with characters beyond U+FFFF takes ten times as long.
_MARKS = "".join(sign for sign in map(chr, range(1 << 16)) if unicodedata.category(sign)[0] == "M")
# Thai, Lao, Burmese, Khmer, kana and ideographs stand without blanks between words.
_UNSPACED = (
    "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3"
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\uff66-\uff9f"
    + re.sub(r"\\x\{(\w+)\}", lambda code: chr(int(code[1], 16)), IDEOGRAPHS)
)
_RUN = re.compile(f"[{_UNSPACED}]+")
# Letters and digits, with the accents and vowel signs of theirs.
WORD = rf"[\w{_MARKS}]{{2,}}"


def with_blanks(text: str) -> str:
    """The text with blanks around each two characters that follow each other, in scripts that write none
    between words: what Lucene's CJKAnalyzer makes of Chinese."""
    return _RUN.sub(lambda run: f" {' '.join(map(''.join, itertools.pairwise(run[0])))} ", text)
