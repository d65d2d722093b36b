"""Names that may be meant where one is not there. Standard library only."""

import difflib
import unicodedata
from collections.abc import Iterable

_LONGEST = 100  # characters that are compared: difflib's time is their square


def near_names(name: str, names: Iterable[str], most: int = 1, nearness: float = 0.75) -> list[str]:
    """The other names that are equal but for case, blanks and quotes, or nearly alike; the nearest first.

    Args:
      name: what was looked for.
      names: what is there.
      most: how many are wanted.
      nearness: difflib's ratio, from 0 to 1; 0.75 is one wrong or missing letter in a short name.
    """
    bare = {_bare(known): known for known in reversed(list(names)) if known != name}
    return [bare[near] for near in difflib.get_close_matches(_bare(name), bare, most, nearness)]


def nearest_name(name: str, names: Iterable[str], nearness: float = 0.75) -> str | None:
    """The nearest of `near_names`, or None."""
    return next(iter(near_names(name, names, nearness=nearness)), None)


def did_you_mean(name: str, names: Iterable[str], nearness: float = 0.75) -> str:
    """ " Did you mean 'Category'?", for messages; "" where no name is near."""
    near = nearest_name(name, names, nearness)
    if near and _composed(near) == _composed(name):
        return (
            f" {near!r} has the same letters in another form of Unicode, such as NFD, in which macOS writes "
            "names; write both in NFC: unicodedata.normalize('NFC', name)."
        )
    return f" Did you mean {near!r}?" if near else ""


def _composed(name):
    return unicodedata.normalize("NFC", str(name))


def _bare(name):
    return _composed(name).strip().strip("\ufeff\"'").strip().casefold()[:_LONGEST]
