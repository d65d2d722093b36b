"""A table of texts for a terminal."""

import unicodedata
from collections.abc import Sequence


def text_width(text: str) -> int:
    """The width of a text in letters: those of Chinese, Japanese and Korean are two wide, accents and vowel
    signs above and below letters have none."""
    seen = (letter for letter in text if unicodedata.category(letter) not in ("Mn", "Me", "Cf"))
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in seen)


def text_table(rows: Sequence[Sequence[str]], num_text_columns: int = 1) -> str:
    """Rows as lines; the first `num_text_columns` columns begin at the left, the others end at the right."""
    widths = [max(map(text_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [(cell, " " * (width - text_width(cell))) for cell, width in zip(row, widths, strict=True)]
        words = [cell + blanks for cell, blanks in cells[:num_text_columns]]
        numbers = [blanks + cell for cell, blanks in cells[num_text_columns:]]
        lines.append("  ".join(words + numbers).rstrip())
    return "\n".join(lines)
