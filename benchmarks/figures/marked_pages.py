"""The marked parts of a page, which are written, and never by hand."""

import re
from collections.abc import Callable

_MARKED = re.compile(r"^<!-- figures: (\w+) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
_BEGINS = re.compile(r"^<!-- figures:", re.MULTILINE)


def marked_names(text: str) -> list[str]:
    """The names of the marked parts of a page, in their order.

    Raises:
      ValueError: for a mark without an end, or one that is written in another way.
    """
    names = [found[1] for found in _MARKED.finditer(text)]
    if len(names) != len(_BEGINS.findall(text)):
        raise ValueError(
            "a mark is not whole; expected lines `<!-- figures: NAME -->` and `<!-- end -->`, each by itself."
        )
    return names


def written(text: str, part_of: Callable[[str], str]) -> str:
    """The page with each marked part replaced.

    Args:
      text: the page.
      part_of: name -> the lines between the marks, which are set apart by blank lines.

    Raises:
      ValueError: as `marked_names` and `part_of` do.
    """
    marked_names(text)
    return _MARKED.sub(
        lambda found: f"<!-- figures: {found[1]} -->\n\n{part_of(found[1])}\n<!-- end -->", text
    )
