"""Several labels of one row: a list, a list as text, a list or columns of 0 and 1 -> names."""

import ast
import json
import re
from collections.abc import Collection

from kbert.config import DatasetConfig

# A list as Python, JSON, NumPy and others print it: "['x', 'y']", '["x", "y"]', "['x' 'y']", "array([1, 2])",
# "tensor([1., 0.], device='cuda:0')", "Index(['x'], dtype='object')"; and "set()".
_LIST = re.compile(r"(?:\w+\()?[\[({](?P<items>.*?)[\])}](?:, *\w+=[^()]*)?\)?", re.DOTALL)
_QUOTES = "'\""
_NOTHING = ("set()", "frozenset()", "list()", "tuple()")
_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ITEM = re.compile(rf"\s*(?P<item>{_QUOTED}|[-+]?\d+(?:\.\d*)?|True|False)(?:\s*,\s*|\s+|$)", re.DOTALL)
# The beginning of a printed list: an entry in quotes, and another one, or what programs print without quotes.
_BARE = r"(?:nan|NaN|NaT|<NA>|None|null|True|False|\.\.\.|[-+]?\d[\d.]*)"
_BEGINNING = re.compile(
    rf"(?:\w+\()?[\[({{]+(?:{_BARE}[,\s]+)*{_QUOTED}(?:[,\s]+(?:{_BARE}|['\"])|[\])}}]+$)", re.DOTALL
)
BETWEEN_TAGS = "><"  # the separator of Stack Overflow's "<x><y>"
_ZERO_OR_ONE = {"0": 0, "1": 1, "false": 0, "true": 1}


def label_columns(columns: Collection[str], dataset: DatasetConfig) -> tuple[str, ...]:
    """The columns of 0 and 1 that hold the labels of a row, one for each of `dataset.labels`.

    None where the file has the column `dataset.label`, or lacks one of them.
    """
    has_them = dataset.label not in columns and all(label in columns for label in dataset.labels)
    return dataset.labels if has_them else ()


def zero_or_one(value) -> int | None:
    """0 or 1, as numbers, truth values or texts of them; None for any other value."""
    return _ZERO_OR_ONE.get(re.sub(r"(?<=\d)\.0*$", "", str(value).strip().lower()))


def held_names(value) -> list | None:
    """The names with a 1 of an object of zeros and ones; None for any other value."""
    if not isinstance(value, dict) or None in map(zero_or_one, value.values()):
        return None
    return [name for name, holds in value.items() if zero_or_one(holds)]


def listed_in_text(cell: str) -> list[str] | None:
    """The entries of a list that a program printed into a cell; None where a cell is none.

    A text in brackets without quotes, such as "[sic]", is none.
    """
    if cell.strip() in _NOTHING:
        return []
    items = _printed_items(cell)
    return None if items is None else _entries(items)


def listed_words(cell: str) -> list[str] | None:
    """The words of a list that a program printed into a cell, each in quotation marks; None where a cell is a
    text, such as "(2019)" and "[1]"."""
    items = _printed_items(cell)
    if not items or not all(item[0] in _QUOTES for item in items):
        return None
    words = _entries(items)
    return words if words and all(word == word.strip() for word in words) else None


def begins_a_list(cell: str) -> bool:
    """Whether a text that is no list, see `listed_words`, begins as one: "['EU', nan]", "['EU', 'rej"."""
    return bool(_BEGINNING.match(cell.strip()))


def seems_listed(cell: str, names: list[str]) -> bool:
    """Whether the names that were cut from a cell are pieces of a list that was not understood."""
    in_brackets = cell.strip()[:1] in ("[", "{") and cell.strip()[-1:] in ("]", "}")
    return (in_brackets and (len(names) > 1 or "," in cell)) or bool(re.search(r"""[\[{]['"]""", cell))


def _entries(items):
    """The entries of a list as texts; None where one in quotation marks is no text of JSON or Python."""
    entries = [_literal(item) if item[0] in _QUOTES else item for item in items]
    return None if None in entries else entries


def _literal(text):
    """What JSON printed, for which two halves in \\u are one character, or else Python; None for all else."""
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    return None


def _printed_items(cell):
    """The entries of a printed list as they stand, with their quotation marks; None where a cell is none."""
    whole = _LIST.fullmatch(cell.strip())
    if not whole:
        return None
    items, position = [], 0
    text = whole["items"].strip()
    while position < len(text):
        item = _ITEM.match(text, position)
        if not item:
            return None
        items.append(item["item"])
        position = item.end()
    return items


def split_cell(cell: str, separator: str | None) -> list[str]:
    """The labels in the text of a cell: a printed list, or names with a separator between them.

    Raises:
      ValueError: saying what is wrong with the cell, for pieces of a list that was not understood.
    """
    for read in (listed_in_text, _printed_object):
        if (listed := read(cell)) is not None:
            return listed
    if separator == BETWEEN_TAGS:
        cell = cell.strip().removeprefix("<").removesuffix(">")
    names = [name.strip() for name in cell.split(separator)] if separator else [cell]
    if len(names) > 1 and not names[-1]:  # a separator at the end, and maybe one at the beginning: "|x|y|"
        names = names[len(names) > 2 and not names[0] : -1]
    if seems_listed(cell, names):
        raise ValueError("which looks like a list, but its entries are not names in quotes")
    return names


def _printed_object(cell):
    """The object of zeros and ones that a program printed into a cell; None where a cell is none."""
    return held_names(_literal(cell)) if cell.startswith("{") else None


def zeros_and_ones(cell: str, labels: tuple[str, ...]) -> list[str] | None:
    """The zeros and ones of a text with one for each label, such as "0101"; None for any other cell."""
    is_one = len(cell) == len(labels) > 1 and cell not in labels and not cell.strip("01")
    may_be_names = len(labels) == 2 and not {"0", "1"}.isdisjoint(labels)
    return list(cell) if is_one and not may_be_names else None


def from_zeros_and_ones(values: list, labels: tuple[str, ...]) -> list | None:
    """The names of labels, from a list that has a 0 or 1 for each of them; None for a list of other things.
    `[1, 0]` may be the names of two, see `require_no_hot_pairs`.

    Raises:
      ValueError: saying what is wrong, where such a list does not fit the labels.
    """
    held = [zero_or_one(value) for value in values]
    may_be_names = any(zero_or_one(label) is not None for label in labels)
    fits = 2 < len(labels) == len(held)  # three of 0 and 1 would name a label twice
    if len(held) < 2 or None in held or (may_be_names and not fits):
        return None
    if labels and len(labels) == len(held):
        return [label for label, holds in zip(labels, held, strict=True) if holds]
    if labels or len(set(held)) < len(held) or not all(type(value) in (str, int) for value in values):
        raise ValueError(
            f"which looks like a 0 or 1 for each of {len(held)} labels: name these, in their order, in "
            f"dataset.labels{f', which has {len(labels)}' if labels else ''}"
        )
    return None


def require_no_hot_pairs(sets: Collection[tuple[str, ...]]):
    """Raises ValueError where every row of a file has both labels 0 and 1.

    In one row `[1, 0]` may name two labels, so `from_zeros_and_ones` lets it pass.
    """
    if sets and all(set(map(zero_or_one, names)) == {0, 1} for names in sets):
        raise ValueError(
            "every row has both labels, 0 and 1, which looks like a 0 or 1 for each of 2 labels: name these, "
            "in their order, in dataset.labels."
        )
