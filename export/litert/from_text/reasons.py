"""Why another tokenizer reads a text otherwise than BERT's rules: what in the text can be the cause."""

import unicodedata
from collections.abc import Callable

from .mediapipe_tokenizer import MAX_BYTES_PER_WORD, words_of
from .tokenizer_inside import MAX_BYTES_PER_WORD as MAX_BYTES_INSIDE

_SPLIT_ALIKE = " \t\n\r"  # the white space and controls that all read alike
_CONTROLS, _SPACES = ("Cc", "Cf"), ("Zs", "Zl", "Zp")


def reasons_of(text: str, table: dict[str, Callable[[str], bool]]) -> list[str]:
    """The causes of one of the tables below that a text has, in words; never empty."""
    found = [reason for reason, has in table.items() if has(text)]
    return found or ["a character on which Unicode's versions differ"]


def _has(text, categories):
    others = [one for one in text if one not in _SPLIT_ALIKE]
    return any(unicodedata.category(one) in categories or one == "\ufffd" for one in others)


def _decomposes(text):
    return unicodedata.normalize("NFD", text) != text or "Mn" in map(unicodedata.category, text)


def _has_capitals(text):
    return any(one.lower() != one for one in text if not one.isascii())


def _has_long_word(text, most_bytes):
    return any(len(word.encode("utf-8")) > most_bytes for word in words_of(text))


def _folds(text):
    """Whether compatibility or case folding makes more of it than lower case does."""
    # A character at a time: the last sigma of a word stays itself in lower case, but not when folded.
    lowered = "".join(one.lower() for one in text)
    return unicodedata.normalize("NFKC", text.casefold()) != unicodedata.normalize("NFC", lowered)


_LONG_WORD = "a word of more than {} bytes, which becomes [UNK]"
MEDIAPIPE = {
    "accents, which stay": _decomposes,
    "capitals beyond ASCII, which stay": _has_capitals,
    "controls or white space beyond ASCII, which stay in words": lambda text: _has(text, _CONTROLS + _SPACES),
    "a NUL, where the text ends": lambda text: "\0" in text,
    _LONG_WORD.format(MAX_BYTES_PER_WORD): lambda text: _has_long_word(text, MAX_BYTES_PER_WORD),
}
INSIDE_CASED = {
    "controls, which split words": lambda text: _has(text, _CONTROLS),
    _LONG_WORD.format(MAX_BYTES_INSIDE): lambda text: _has_long_word(text, MAX_BYTES_INSIDE),
}
INSIDE_UNCASED = INSIDE_CASED | {"characters that folding changes, such as ½ ™ ß ς …": _folds}
