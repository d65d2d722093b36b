"""Reads the tables of unicode_tables.json; export/tokenizers/tables/compact.py says how they are written."""

import json
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path

# What the tokenizer in the graph does with each character: name -> table; see `graph_facts`.
TABLES: dict[str, str] = json.loads(
    (Path(__file__).with_name("unicode_tables.json")).read_text(encoding="utf-8")
)
# Hangul syllables are arithmetic: The Unicode Standard, 3.12, "Conjoining Jamo Behavior".
_FIRST_SYLLABLE, _LAST_SYLLABLE = 0xAC00, 0xD7A3
_LEADING, _VOWEL, _TRAILING = 0x1100, 0x1161, 0x11A7
_VOWELS, _TRAILINGS = 21, 28


def ranges(table: str) -> list[tuple[int, int]]:
    """The (first, last) code points of the ranges of a set, ascending."""
    first_and_last, end = [], 0
    for run in table.split(" "):
        gap, _, length = run.partition(".")
        start = end + int(gap, 36)
        end = start + int(length or "1", 36)
        first_and_last.append((start, end - 1))
    return first_and_last


def numbers(table: str) -> Iterator[tuple[int, tuple[int, ...]]]:
    """(code point, its numbers) for every character of a table of runs."""
    end = 0
    for run in table.split(" "):
        where, _, values = run.partition(":")
        gap, length, step = [int(number, 36) for number in (where.split(".") + ["1", "1"])[:3]]
        own = tuple(int(value, 36) for value in values.split(","))
        start = end + gap
        for offset in range(length):
            yield start + offset * step, own
        end = start + (length - 1) * step + 1


def lowered_characters() -> dict[int, tuple[int, ...]]:
    """What a character becomes by lower-casing, where that is another text."""
    return _shifted(TABLES["lowered"])


def decomposed_characters() -> dict[int, tuple[int, ...]]:
    """What a character becomes by decomposing (NFD) and dropping accents, where that is another text.

    Accents themselves, which become nothing, are not in it.
    """
    syllables = range(_FIRST_SYLLABLE, _LAST_SYLLABLE + 1)
    return _shifted(TABLES["decomposed"]) | {code: _jamo(code) for code in syllables}


def _shifted(table):
    return {code: tuple(code + shift for shift in shifts) for code, shifts in numbers(table)}


def _jamo(code) -> tuple[int, ...]:
    """The two or three letters of a Hangul syllable."""
    rest, trailing = divmod(code - _FIRST_SYLLABLE, _TRAILINGS)
    leading, vowel = divmod(rest, _VOWELS)
    return (_LEADING + leading, _VOWEL + vowel) + ((_TRAILING + trailing,) if trailing else ())


class CodePointSet:
    """A set of characters as ranges.

    Args:
      table: one of TABLES.

    Examples:
      >>> from kbert.tokenization.core_ops.code_points import CodePointSet
      >>> "b" in CodePointSet("2p.3"), "d" in CodePointSet("2p.3")  # U+0061 to U+0063
      (True, False)
    """

    def __init__(self, table: str):
        self.ranges = ranges(table)
        self._starts = [first for first, _ in self.ranges]

    def __contains__(self, character: str) -> bool:
        code = ord(character)
        index = bisect_right(self._starts, code) - 1
        return index >= 0 and code <= self.ranges[index][1]

    def __iter__(self) -> Iterator[int]:
        """The code points, ascending."""
        return (code for first, last in self.ranges for code in range(first, last + 1))
