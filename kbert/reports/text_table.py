"""A table of texts for a terminal."""

from collections.abc import Sequence


def text_table(rows: Sequence[Sequence[str]], num_text_columns: int = 1) -> str:
    """Rows as lines; the first `num_text_columns` columns begin at the left, the others end at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = list(zip(row, widths, strict=True))
        words = [cell.ljust(width) for cell, width in cells[:num_text_columns]]
        numbers = [cell.rjust(width) for cell, width in cells[num_text_columns:]]
        lines.append("  ".join(words + numbers).rstrip())
    return "\n".join(lines)
