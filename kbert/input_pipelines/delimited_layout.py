"""How the lines of a TSV or CSV file are cut into cells, and what its columns are called."""

import csv
import itertools
import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.file_format import FORMATS
from kbert.input_pipelines.file_problems import FileProblems

DELIMITERS = (",", ";", "\t", "|")
# In characters. The default of the csv module, 131,072, is too small for a book. Without any limit, a quote
# that is never closed would make one cell of the whole rest of a CSV file.
_LONGEST_CELL = 1 << 24
ENOUGH_ROWS = 10  # all of which have quotation marks around a cell, or blanks behind the delimiters
_ENOUGH_OF_LINES = 1 << 16
_EXCEL_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # the first line of a file that is written for Excel


class Layout(NamedTuple):
    """How the lines of a file are cut, and what its columns are called.

    `quoted`: a cell may stand in double quotes, which are doubled inside of it. `first`: the lines that are
    read for this, but are rows. `skipped`: how many other lines come before these. `spaced`: a blank follows
    each delimiter and is no part of a cell; a quotation mark behind it opens one. `padded`: the same, but
    such a mark is text.
    """

    delimiter: str
    quoted: bool
    header: list[str]
    first: list[str]
    skipped: int
    spaced: bool = False
    padded: bool = False

    @property
    def named(self) -> list[str]:
        """The header without the nameless columns that delimiters at the end of each line make."""
        header = self.header
        while len(header) > 1 and not header[-1].strip():
            header = header[:-1]
        return header


def find_layout(
    lines: Iterator[str],
    path: str | Path,
    file_format: str,
    dataset: DatasetConfig,
    wanted: Collection[str],
    problems: FileProblems,
) -> Layout:
    """The layout of a file, from its first line; what differs from the custom is said in a warning.

    The delimiter is `dataset.delimiter`, or by custom a comma in CSV and a tab in TSV, unless another one is
    obvious: only with it the header line has the names that are `wanted` (or `column_names` cells). A file
    with another delimiter than its kind is read as CSV, with quotes; so is TSV whose names of columns all
    stand in quotes. Blanks around names are left out, and after each delimiter where the header has them.

    Args:
      lines: the lines of the file with their ends; the header is taken from them.
      path: the file, for messages.
      file_format: "tsv" or "csv".
      dataset: says `delimiter` and `column_names`.
      wanted: the names of columns that the reader looks for.
      problems: those of the lines, which may be the reason that there is no header.

    Raises:
      ValueError: for a file without a header line.
    """
    own = FORMATS[file_format].delimiter
    (first, skipped), usual = _next_line(lines), dataset.delimiter or own
    if mark := _EXCEL_LINE.fullmatch(first.strip("\r\n")):
        (first, blank), usual = _next_line(lines), dataset.delimiter or mark[1]
        skipped += 1 + blank
    delimiter = _find_delimiter(first, (usual, own, *DELIMITERS), dataset.column_names, wanted)
    quoted = file_format == "csv" or delimiter not in (usual, own)
    if delimiter != usual:
        warn_once(
            f"{path}: {delimiter!r} separates its columns, not {usual!r}; it is read so, "
            f"{'as CSV with' if quoted else 'without'} quotes. dataset.delimiter sets it."
        )
    if dataset.column_names:
        return Layout(delimiter, quoted, list(dataset.column_names), [first] if first else [], skipped)
    names = next(cut([first], delimiter, quoted), [])
    if not quoted and names and all(map(in_marks, names)) and not {*names} & {*wanted}:
        quoted = True
        warn_once(
            f"{path}: the names of its columns stand in quotation marks, so it is read as CSV, with quotes. "
            "dataset.file_format=csv says so."
        )
    spaced = quoted and any(name[:1] == " " and name.strip() for name in names[1:])
    rows = cut(itertools.chain([first], lines), delimiter, quoted, spaced=spaced)
    header = [name if name in wanted else name.strip("\ufeff").strip() for name in next(rows, [])]
    if not header:
        problems.raise_all()
        raise ValueError(f"{path} is empty; expected a first line with the names of the columns.")
    return Layout(delimiter, quoted, header, [], skipped + rows.line_num, spaced)


def _next_line(lines) -> tuple[str, int]:
    """(the next line in which something stands, how many blank ones come before it)"""
    for number, line in enumerate(lines):
        if line.strip(" \r\n"):
            return line, number
    return "", 0


def _find_delimiter(line, marks, column_names, wanted) -> str:
    """The first of the marks, which is the usual one, unless another fits and this one does not."""
    usual = marks[0]
    cells = {mark: [_bare(cell) for cell in next(cut([line], mark), [])] for mark in marks}
    cutting = [mark for mark in cells if len(cells[mark]) > 1]
    if usual in cutting and column_names:
        return usual
    if column_names:
        return next((mark for mark in cutting if len(cells[mark]) == len(column_names)), usual)
    num_wanted = {mark: len({*map(_bare, wanted)} & {*cells[mark]}) for mark in cells}
    best = max(num_wanted, key=num_wanted.__getitem__)  # the usual one where several have as many
    if num_wanted[best]:
        return best
    return cutting[0] if len(cutting) == 1 else usual


def _bare(name):
    """A name as it is compared: a byte order mark stands before it where files were joined."""
    return name.strip().strip('\ufeff"').strip().casefold()


def likely_format(line: str) -> str:
    """ "jsonl", "tsv" or "csv": what a first line looks like; "" for a line without a sign of any."""
    if line.lstrip().startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in line else "csv" if set(",;|") & {*line} else ""


def in_marks(name: str) -> bool:
    """Whether a name stands in quotation marks, of either kind."""
    return len(name) > 1 and name[0] == name[-1] and name[0] in "\"'"


def with_beginning(layout, lines) -> Layout:
    """The layout, also `spaced` where the first rows are, though the header is not; or `padded` where none of
    their cells is in quotes: what writes f"{label}, {text}" quotes nothing."""
    first = [*layout.first, *itertools.islice(lines, ENOUGH_ROWS)]
    if layout.spaced or not layout.quoted:
        return layout._replace(first=first)
    mark = re.escape(layout.delimiter)
    in_quotes = re.compile(rf'(^|{mark} +)"(?:[^"\n]|"")*"(?=\s*(?:{mark}|$))')
    emptied = [in_quotes.subn(r"\1", line[:_ENOUGH_OF_LINES]) for line in first]
    rows = cut((line for line, _ in emptied), layout.delimiter)
    cells = list(itertools.chain.from_iterable(row[1:] for row in rows))
    padded = bool(cells) and all(cell[:1] == " " for cell in cells)
    spaced = padded and any(number for _, number in emptied)
    return layout._replace(first=first, spaced=spaced, padded=padded and not spaced)


def read_cells(
    lines: Iterator[str], path: str | Path, layout: Layout, problems: FileProblems
) -> Iterator[tuple[int, list[str]]]:
    """(number of its last line, cells) of each row below the header; a blank line has no cells.

    A row whose quotes are broken is a problem, and left out.
    """
    lines = itertools.chain(layout.first, lines)
    reader = cut(lines, layout.delimiter, layout.quoted, strict=True, spaced=layout.spaced)
    while not problems.is_full:
        begin = reader.line_num + layout.skipped + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(f"{path} line {begin}: {_quote_problem(str(error))} {without_quotes(layout)}")
        else:
            cells = [cell.lstrip(" ") for cell in cells] if layout.padded else cells
            yield reader.line_num + layout.skipped, cells


def _quote_problem(error):
    if error.startswith("unexpected end"):
        return (
            "a quotation mark opens a cell in this row and is not closed up to the end of the file; fix it."
        )
    if error.startswith("field larger"):
        return f"a cell has more than {_LONGEST_CELL:,} characters, as where a quotation mark is not closed."
    return (
        f'{error}: in a cell between quotation marks, those of the text are doubled (""), not marked by a '
        "backslash; fix the row."
    )


def without_quotes(layout: Layout) -> str:
    """What to do where the marks of a file are text."""
    return (
        "If the file is written without quoting, and marks are text, set dataset.file_format=tsv and "
        f"dataset.delimiter={layout.delimiter!r} where there is a config, or end its name in .tsv where tabs "
        "separate."
    )


def cut(lines, delimiter, quoted=True, strict=False, spaced=False):
    """A reader of the cells of lines, see `Layout`; a `strict` one raises csv.Error for broken quotes."""
    csv.field_size_limit(_LONGEST_CELL)
    return csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        skipinitialspace=spaced,
        strict=strict,
    )
