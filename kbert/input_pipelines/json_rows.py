"""JSON rows that hold texts: one rule for corpora and labelled files. Standard library only."""

_NAMES = {type(None): "null", bool: "true or false", str: "string", list: "list", dict: "object"}


def why_no_text(row: dict, name: str) -> str | None:
    """What is wrong with the text of a row, to stand behind "FILE line 3 "; None when nothing is.

    A text is a string that has UTF-8. What stands for no text in other places, null or a number, would
    become a word of the text here.

    Args:
      row: the object of one line.
      name: the field that should hold the text.
    """
    if name not in row:
        return f"has no field {name!r}, only {', '.join(map(repr, list(row)[:8]))[:500] or 'nothing'}"
    if not isinstance(row[name], str):
        return f"has a JSON {name_of(row[name])} as {name!r}, not a string"
    if half := _half_of_a_pair(row[name]):
        return f"has text with half a surrogate pair ({half}) as {name!r}, which has no UTF-8"
    return None


def name_of(value) -> str:
    """What kind of JSON value it is."""
    return _NAMES.get(type(value), "number")


def _half_of_a_pair(text):
    if text.isascii():
        return None
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        return f"U+{ord(text[error.start]):04X}"
    return None
