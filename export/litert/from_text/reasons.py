"""Why another tokenizer reads a text otherwise than BERT's rules: what in the text can be the cause."""

import unicodedata
from collections.abc import Callable

from .mediapipe_tokenizer import MAX_BYTES_PER_WORD, words_of
from .tokenizer_inside import MAX_BYTES_PER_WORD as MAX_BYTES_INSIDE

_SPLIT_ALIKE = " \t\n\r"  # the white space and controls that all read alike
_CONTROLS, _SPACES = ("Cc", "Cf"), ("Zs", "Zl", "Zp")


def mediapipe_reasons(text: str) -> list[str]:
    """The causes for MediaPipe's tokenizer that a text has, in words; never empty."""
    return _found(_MEDIAPIPE, text)


def reasons_inside(text: str, do_lower_case: bool) -> list[str]:
    """The same for TF-Text's tokenizer, see `TokenizerInside`."""
    return _found(_INSIDE_UNCASED if do_lower_case else _INSIDE, text)


def _found(reasons, text):
    found = [reason for reason, has in reasons.items() if has(text)]
    return found or ["a character on which Unicode's versions differ"]


def _decomposes(text):
    decomposed = unicodedata.normalize("NFD", text)
    return decomposed != text or any(unicodedata.category(one) == "Mn" for one in text)


def _has_capitals(text):
    return any(one.lower() != one for one in text if not one.isascii())


def _has_controls(text):
    return any(
        unicodedata.category(one) in _CONTROLS or one == "\ufffd" for one in text if one not in _SPLIT_ALIKE
    )


def _has_spaces(text):
    return any(unicodedata.category(one) in _SPACES for one in text if one not in _SPLIT_ALIKE)


def _has_long_word(most_bytes) -> Callable[[str], bool]:
    return lambda text: any(len(word.encode("utf-8")) > most_bytes for word in words_of(text))


def _folds(text):
    """Whether compatibility or case folding makes more of it than lower case does."""
    # A character at a time: the last sigma of a word stays itself in lower case, but not when folded.
    lowered = "".join(one.lower() for one in text)
    return unicodedata.normalize("NFKC", text.casefold()) != unicodedata.normalize("NFC", lowered)


_LONG_WORD = "a word of more than {} bytes, which becomes [UNK]"
_MEDIAPIPE = {
    "accents, which stay": _decomposes,
    "capitals beyond ASCII, which stay": _has_capitals,
    "controls or white space beyond ASCII, which stay in words": lambda text: (
        _has_controls(text) or _has_spaces(text)
    ),
    "a NUL, where the text ends": lambda text: "\0" in text,
    _LONG_WORD.format(MAX_BYTES_PER_WORD): _has_long_word(MAX_BYTES_PER_WORD),
}
_INSIDE = {
    "controls, which split words": _has_controls,
    _LONG_WORD.format(MAX_BYTES_INSIDE): _has_long_word(MAX_BYTES_INSIDE),
}
_INSIDE_UNCASED = _INSIDE | {"characters that folding changes, such as ½ ™ ß ς …": _folds}
