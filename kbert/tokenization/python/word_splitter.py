"""Text -> the words and marks that WordPiece sees: the graph's split_words, character by character."""

import re

from kbert.tokenization.core_ops.code_points import TABLES, CodePointSet, ranges

from .lower_casing import fold


def _character_class(table):
    """The characters of a set, as they stand between the brackets of a pattern."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges(table))


def _words(*alone):
    """A pattern of words: a character of these classes, or what stands between them and spaces."""
    characters = "".join(map(_character_class, alone))
    return re.compile(f"[{characters}]|[^ {characters}]+")


_CLEANED: dict[int, str | None] = dict.fromkeys(CodePointSet(TABLES["spaces"]), " ") | dict.fromkeys(
    CodePointSet(TABLES["dropped"])
)
# By `tokenize_chinese_chars`.
_WORDS = {True: _words(TABLES["punctuation"], TABLES["ideographs"]), False: _words(TABLES["punctuation"])}


def split_words(
    text: str, do_lower_case: bool, strip_accents: bool | None = None, tokenize_chinese_chars: bool = True
) -> list[str]:
    """The words and marks of a text, normalized.

    Args:
      text: any string; halves of surrogate pairs, which UTF-8 cannot write, are ignored.
      do_lower_case, strip_accents, tokenize_chinese_chars: see `WordPieceRules`.
    """
    if text.isascii() and text.isalnum():
        return [text.lower() if do_lower_case else text]
    strip_accents = do_lower_case if strip_accents is None else strip_accents
    cleaned = fold(text.translate(_CLEANED), do_lower_case, strip_accents)
    return _WORDS[tokenize_chinese_chars].findall(cleaned)
