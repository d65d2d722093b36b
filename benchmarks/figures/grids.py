"""Records -> a table with a row for each contestant and a column for each figure."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from benchmarks.figures.records import figure


class Column(NamedTuple):
    """A column of figures.

    Args:
      head: what stands above it.
      show: a number as text, see formats.py.
      paths: where the numbers of a cell are in a row of a record; texts of several are joined by `joiner`.
      best: "min" or "max", whose cell is bold; None for no bold cell.
      joiner: see `paths`.
      may_lack: whether a row may be without this figure, and the cell empty.
    """

    head: str
    show: Callable[[float], str]
    paths: tuple[tuple[str, ...], ...]
    best: str | None = None
    joiner: str = ", "
    may_lack: bool = False


class Row(NamedTuple):
    """A row: its label, the record it is from, and its name there."""

    label: str
    record: dict
    name: str


def grid(head: str, columns: Sequence[Column], rows: Sequence[Row], align: str = "---:") -> list[str]:
    """The lines of a table.

    Args:
      head: what stands above the labels.
      columns, rows: see there.
      align: of the figures.

    Raises:
      ValueError: as `figure` does.
    """
    values = [[_values(column, row) for column in columns] for row in rows]
    lines = [
        f"| {' | '.join((head, *(column.head for column in columns)))} |".replace("|  |", "| |"),
        f"|---|{'|'.join(align for _ in columns)}|",
    ]
    for row, cells in zip(rows, values, strict=True):
        shown = [_shown(column, cell, _best(values, place)) for place, (column, cell) in
                 enumerate(zip(columns, cells, strict=True))]  # fmt: skip
        lines.append(table_row(row.label, *shown))
    return lines


def table_row(*cells: str) -> str:
    """A line of a table."""
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def _values(column, row) -> tuple | None:
    try:
        return tuple(figure(row.record, row.name, *path) for path in column.paths)
    except ValueError:
        if not column.may_lack:
            raise
        return None


def _best(values, place):
    """The function of `Column.best` over a column of numbers."""
    numbers = [cells[place][0] for cells in values if cells[place]]
    return {"min": min(numbers), "max": max(numbers)} if numbers else {}


def _shown(column, cell, best):
    if cell is None:
        return ""
    text = column.joiner.join(column.show(number) for number in cell)
    return f"**{text}**" if column.best and cell[0] == best[column.best] else text
