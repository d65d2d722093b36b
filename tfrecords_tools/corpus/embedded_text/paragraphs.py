"""Docstrings, comments and help topics -> paragraphs, without code and tables."""

import re
from collections.abc import Iterator

_RULER = re.compile(r"^[\W_]{3,}$|^-\[.*\]-$")
_TABLE_ROW = re.compile(r"^\s*[|+]|\|\s*$|\S\s{3,}\S+\s{3,}\S")
_CODE_LINE = re.compile(
    r"^\s*(?:>>>|\.\.\.(?:\s|$)|\.\. |\$ |:\w+|[%#]!|@\w+\b|import \w+|from [\w.]+ import |"
    r"[\w.]+\([^()]*\)(?: ->.*)?:?$|[\w.\[\]]+ = )"
)
BULLET = re.compile(r"^(?:[-*+o•]|\(?[0-9a-z]{1,2}[.)]|\[\d+\])\s+(?=\S)")
# "filename  The name of the file", "timeout -- how long to wait": the term is not a sentence.
TERM = re.compile(r"^[\w.'\"*()/|,=\[\]-]+(?:\s*:\s|\s+--?\s+|(?<![.!?:,;])\s{2,})(?=\S)")


def paragraphs(text: str) -> Iterator[str]:
    """Yields the paragraphs of a docstring, comment or help topic, each on one line.

    A paragraph ends at a blank line, a bullet, a change of indentation or a term of a definition
    list. Code that follows `::`, doctests, tables, rulers and directives are left out.
    """
    lines: list[str] = []
    indent = 0
    code_indent = None  # inside a literal block: everything indented deeper than this
    in_doctest = False  # until the next blank line: what the code above it prints

    for line in [*text.expandtabs().splitlines(), ""]:
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        if stripped and code_indent is not None:
            if depth > code_indent:
                continue
            code_indent = None

        in_doctest = bool(stripped) and (in_doctest or stripped.startswith(">>>"))
        is_text = (
            stripped
            and not in_doctest
            and not any(pattern.search(line) for pattern in (_RULER, _TABLE_ROW, _CODE_LINE))
        )
        starts_new = is_text and (
            not lines
            or depth < indent
            or depth > indent
            and len(lines) > 1
            or BULLET.match(stripped)
            or TERM.match(stripped)
        )
        if lines and (not is_text or starts_new):
            yield _join_lines(lines)
            lines = []
        if is_text:
            lines.append(stripped)
            indent = depth
            if stripped.endswith("::"):
                code_indent = depth


def _join_lines(lines: list[str]) -> str:
    text = lines[0]
    for line in lines[1:]:
        # "pre-" + "formatted" is one word that the author broke at its hyphen.
        broken_word = re.search(r"[a-z]-$", text) and line[0].islower()
        text += line if broken_word else " " + line
    return text
