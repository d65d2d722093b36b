"""A Markdown page as its pieces: blocks of code, code inside lines, links and headings. Standard library."""

import re
from typing import NamedTuple

from tests.places import REPOSITORY

_FENCE = re.compile(r"^( *)```(\S*) *\n(.*?)^\1``` *$", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:\A|(?<=\n\n))((?: {4}.*\n|\n(?= {4}))+)")
_INLINE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.*?) *$", re.MULTILINE)


class Code(NamedTuple):
    """Code of a page.

    Fields:
      text: the code, without fences or indentation.
      language: what stands behind the fence; "" for an indented block; None inside a line.
      line: the number of its first line.
    """

    text: str
    language: str | None
    line: int


def pages() -> list[str]:
    """The pages for readers, as paths from the top of the repository, without what `make docs` writes."""
    top = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    there = sorted(path.relative_to(REPOSITORY).as_posix() for path in REPOSITORY.glob("docs/**/*.md"))
    return top + [page for page in there if not page.startswith("docs/reference/")]


def read(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks(text: str) -> list[Code]:
    """Fenced and indented blocks."""
    fenced = [
        Code(match[3], match[2], text.count("\n", 0, match.start(3)) + 1) for match in _FENCE.finditer(text)
    ]
    rest = _without(_FENCE, text)
    indented = [
        Code(re.sub("^ {4}", "", match[1], flags=re.MULTILINE), "", rest.count("\n", 0, match.start()) + 1)
        for match in _INDENTED.finditer(rest)
    ]
    return sorted(fenced + indented, key=lambda code: code.line)


def inline_code(text: str) -> list[Code]:
    """What stands between single backticks."""
    rest = prose(text)
    return [
        Code(" ".join(match[1].split()), None, rest.count("\n", 0, match.start()) + 1)
        for match in _INLINE.finditer(rest)
    ]


def prose(text: str) -> str:
    """The page with empty lines where its blocks of code were."""
    return _without(_INDENTED, _without(_FENCE, text))


def links(text: str) -> list[str]:
    """The targets of links, outside of code."""
    return _LINK.findall(_INLINE.sub("", prose(text)))


def anchors(text: str) -> set[str]:
    """The names that GitHub and the site give to headings."""
    titles = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in _HEADING.findall(prose(text)))
    return {re.sub(r"[^\w\- ]", "", title).strip().lower().replace(" ", "-") for title in titles}


def _without(pattern, text):
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)
