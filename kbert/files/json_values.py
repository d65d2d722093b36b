"""Values of a JSON file from outside: checks their types, and shortens them for error messages."""

import collections
import math
import reprlib
from collections.abc import Sequence

_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}
_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 100
_SHORT.maxlong = 40
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = 8
_SHORT.maxlevel = 3


def shown(value) -> str:
    """The `repr` of any value in one line, shortened where it is long or deeply nested."""
    return " ".join(map(str.strip, _SHORT.repr(value).splitlines()))[:200]


def shown_name(name: str) -> str:
    """A name from outside: unchanged if it is printable and short, otherwise quoted and shortened."""
    return name if name.isprintable() and 0 < len(name) <= 200 else shown(name)


def first_few(names: Sequence, most: int, separator: str = ", ") -> str:
    """The first of many, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return separator.join(map(str, names[:most])) + more


def json_value(values: dict, key: str, kind: type, where, default=None):
    """A value out of a JSON object.

    Args:
      values: the object.
      key: its key.
      kind: bool, int, float, str, list or dict. float also accepts whole numbers, but not true and false.
      where: what to call the object in an error.
      default: for a key that is missing or null.

    Returns:
      The value, of that type, or `default`.

    Raises:
      ValueError: for a value of another type, a number that is not finite, and a text with half a surrogate
        pair.
    """
    value = values.get(key)
    if value is None:
        return default
    fits = isinstance(value, int | float if kind is float else kind)
    if not fits or (isinstance(value, bool) and kind is not bool) or not _can_be_written(value):
        raise ValueError(f"{where}: {key} should be {_KINDS[kind]}, received {shown(value)}.")
    return value


def json_count(values: dict, key: str, where, least: int = 1):
    """A whole number of at least `least`, which may be written as 512.0; None for a missing key or null.

    Raises:
      ValueError: for anything else.
    """
    value = json_value(values, key, float, where)
    if value is not None and (value < least or value != int(value)):
        raise ValueError(
            f"{where}: {key} should be a whole number of at least {least}, received {shown(value)}."
        )
    return value if value is None else int(value)


def json_texts(values: dict, key: str, where, default=None):
    """A list of texts.

    Raises:
      ValueError: for anything else.
    """
    value = json_value(values, key, list, where, default)
    if value is not default and not all(isinstance(text, str) and is_unicode(text) for text in value):
        raise ValueError(f"{where}: {key} should be a list of texts, received {shown(value)}.")
    return value


def require_once(names, what: str):
    """Raises ValueError where a label stands twice; `what` names the list, with its file in front."""
    repeated = sorted(name for name, count in collections.Counter(names).items() if count > 1)
    if repeated:
        raise ValueError(f"{what} repeats {shown(repeated)}; name each label once.")


def find_surrogate(text: str) -> str | None:
    """The code point of half a surrogate pair ("U+D83D"), which JSON can hold and UTF-8 cannot; or None."""
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return None


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded as UTF-8."""
    return find_surrogate(text) is None


def _can_be_written(value):
    if isinstance(value, str):
        return is_unicode(value)
    return not isinstance(value, float) or math.isfinite(value)
