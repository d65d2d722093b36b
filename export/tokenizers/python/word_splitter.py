"""Text -> the words and marks that WordPiece sees: the graph's split_words, character by character."""

import re

from kbert.tokenization.core_ops.code_points import TABLES, CodePointSet, ranges

from .lower_casing import fold


def _character_class(table):
    """The characters of a set, as they stand between the brackets of a pattern."""
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges(table))


_CLEANED: dict[int, str | None] = dict.fromkeys(CodePointSet(TABLES["spaces"]), " ") | dict.fromkeys(
    CodePointSet(TABLES["dropped"])
)
_WORD = re.compile(f"[{_character_class(TABLES['alone'])}]|[^ {_character_class(TABLES['alone'])}]+")


def split_words(text: str, do_lower_case: bool) -> list[str]:
    """The words and marks of a text, normalized.

    Args:
      text: any string; halves of surrogate pairs, which UTF-8 cannot write, are ignored.
      do_lower_case: lower-case and strip accents.
    """
    cleaned = text.translate(_CLEANED)
    return _WORD.findall(fold(cleaned) if do_lower_case else cleaned)
