"""Why MediaPipe reads a text otherwise than BERT's rules do: what in the text can be the cause."""

import unicodedata

from .mediapipe_tokenizer import MAX_BYTES_PER_WORD, words_of

_SPLIT_ALIKE = " \t\n\r"  # the white space and controls that both read alike


def reasons(text: str) -> list[str]:
    """The causes that a text has, in words; never empty."""
    found = [reason for reason, has in _REASONS.items() if has(text)]
    return found or ["a character of a newer Unicode"]


def _decomposes(text):
    decomposed = unicodedata.normalize("NFD", text)
    return decomposed != text or any(unicodedata.category(one) == "Mn" for one in text)


def _has_capitals(text):
    return any(one.lower() != one for one in text if not one.isascii())


def _has_controls(text):
    """Characters that BERT's rules drop, or take for white space."""
    dropped = ("Cc", "Cf", "Zs", "Zl", "Zp")
    return any(
        unicodedata.category(one) in dropped or one == "\ufffd" for one in text if one not in _SPLIT_ALIKE
    )


def _has_long_word(text):
    return any(len(word.encode("utf-8")) > MAX_BYTES_PER_WORD for word in words_of(text))


_REASONS = {
    "accents, which stay": _decomposes,
    "capitals beyond ASCII, which stay": _has_capitals,
    "controls or white space beyond ASCII, which stay in words": _has_controls,
    "a NUL, where the text ends": lambda text: "\0" in text,
    f"a word of more than {MAX_BYTES_PER_WORD} bytes, which becomes [UNK]": _has_long_word,
}
