"""Checks the columns and texts of rows, for corpora and labelled files alike. Standard library only."""

import difflib
from collections.abc import Iterable

_NAMES = {type(None): "null", bool: "true or false", str: "string", list: "list", dict: "object"}


class MissingColumn(ValueError):
    """A file or a row does not have a column.

    Args:
      what: says which file, which column, and what there is instead.
      advice: what to do where a config names the columns.
      column: its name.
    """

    def __init__(self, what: str, advice: str = "", column: str | None = None):
        joint = "\n  " if "\n" in what else " "
        super().__init__(f"{what}{joint}{advice}".rstrip())
        self.what = what
        self.advice = advice
        self.column = column


def require_column(record, column, where):
    """Raises MissingColumn, a ValueError, when a record does not have a column."""
    if column not in record:
        what = f"{where} has no column {column!r}; it has {str(sorted(record))[:500]}."
        raise MissingColumn(what + did_you_mean(column, record), column=column)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """ " Did you mean 'Category'?", for messages; "" where no name is near."""
    near = nearest_name(name, names)
    return f" Did you mean {near!r}?" if near else ""


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """The name that is equal but for case, blanks and quotes, or else spelt nearly alike; or None."""
    bare = {_bare(known): known for known in reversed(list(names))}
    nearest = difflib.get_close_matches(_bare(name)[:100], [known[:100] for known in bare], n=1, cutoff=0.75)
    return bare.get(_bare(name)) or (bare.get(nearest[0]) if nearest else None)


def _bare(name):
    return str(name).strip().strip("\ufeff\"'").strip().casefold()


def why_no_text(row: dict, name: str) -> str | None:
    """What is wrong with the text of a row, to be put after "FILE line 3 " in a message; None if nothing is.

    A text must be a string that can be encoded in UTF-8. Without this check, null or a number would be read
    as a word.

    Args:
      row: the object of one line.
      name: the field that should hold the text.
    """
    if name not in row:
        return f"has no field {name!r}, only {', '.join(map(repr, list(row)[:8]))[:500] or 'nothing'}"
    if not isinstance(row[name], str):
        return f"has a JSON {json_type(row[name])} as {name!r}, not a string"
    if half := _find_surrogate(row[name]):
        return f"has text with half a surrogate pair ({half}) as {name!r}, which UTF-8 cannot encode"
    return None


def json_type(value) -> str:
    """The name of the JSON type of a value, for messages."""
    return _NAMES.get(type(value), "number")


def _find_surrogate(text):
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return None
