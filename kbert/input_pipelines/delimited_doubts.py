"""What the rows of a TSV or CSV file show that is likely to be read otherwise than it was written."""

import io
import re

from kbert.cli.warn_once import warn_once
from kbert.input_pipelines.delimited_layout import ENOUGH_ROWS, Layout, cut, without_quotes

AS_CSV = (
    "To read it with quotes, end its name in .csv, whose tabs are seen, or set "
    "--override=dataset.file_format=csv and --override='dataset.delimiter=\"\\t\"' where there is a config."
)
SINGLE_MARKS = (
    "CSV has double ones: write the file again with them, pandas.read_csv(OLD, sep=..., "
    """quotechar="'").to_csv(NEW, index=False)."""
)
IN_TEXTS = (
    "If one stands in a text, write a blank for it or put the text in quotation marks, as pandas does with "
    "to_csv(quoting=csv.QUOTE_ALL)."
)
_KNOWN = 10_000  # labels or ids that are kept, to tell a row from lines of a text


class DelimitedDoubts:
    """Looks at all whole rows of a file, which are read whatever is found; then warns of it.

    Args:
      path: the file, for messages.
      layout: how it is read.
      columns: those that must be there.
      marks: the columns, where there are any, that tell a row from lines of a text.
    """

    def __init__(self, path, layout: Layout, columns, marks):
        header = layout.header
        self._path, self._layout, self._num_named = path, layout, len(layout.named)
        self._num_rows = self._in_quotes = self._in_single = self._in_commas = self._kept = 0
        self._may_be_excels = not layout.quoted
        self._in_marks = [] if layout.quoted else [header.index(name) for name in columns if name in header]
        self._mark = next((header.index(name) for name in marks if name in header), None)
        self._known, self._swallowing, self._nameless = set[str](), list[tuple[int, int, set]](), list[int]()

    def look_at(self, number: int, cells: list[str], line: list[str]):
        """Looks at a row.

        Args:
          number: that of its last line.
          cells: one for each column.
          line: the cells as they were cut.
        """
        joined = "".join(cells)  # first: this is done for every row
        self._num_rows += 1
        self._look_for_marks(cells, joined)
        self._kept += "\r" in joined and joined.replace("\r\n", "").count("\r")
        if self._num_named < len(cells) and any(map(str.strip, cells[self._num_named :])):
            self._nameless.append(number)
        if self._mark is not None:
            if len(self._known) < _KNOWN:  # ids of millions of rows need not be held
                self._known.add(cells[self._mark])
            if "\n" in joined and (inner := _forms_of_lines(line, self._mark, self._layout)):
                self._swallowing.append((number - joined.count("\n"), number, inner))

    def _look_for_marks(self, cells, joined):
        self._in_quotes += not self._layout.quoted and '""' in joined and any(map(_is_in_quotes, cells))
        if self._may_be_excels and ("," in joined or '"' in joined):  # Excel marks the cells with a comma
            with_marks = [cell for cell in cells if cell[:1] == cell[1:][-1:] == '"']
            self._may_be_excels = with_marks == [cell for cell in cells if "," in cell]
            self._in_commas += len(with_marks)
        if self._in_marks:
            self._in_marks = [n for n in self._in_marks if cells[n][:1] == cells[n][1:][-1:] == '"']
        self._in_single += "''" in joined and any(_is_in_quotes(cell, "'") for cell in cells)

    def say(self, split_lines: list[int]):
        """Warns of what was found. `split_lines`: the lines that a carriage return alone ended."""
        self._say_marks()
        self._say_swallowed()
        # In a file of carriage returns alone all rows end so.
        if self._kept < len(split_lines) < self._num_rows - 1:
            warn_once(
                f"{self._path}: {len(split_lines) - self._kept:,} row(s) end with a carriage return alone, "
                f"others with a line feed; the first is in line {split_lines[0]}. {IN_TEXTS}"
            )
        if self._in_single:
            warn_once(
                f"{self._path}: {self._in_single:,} row(s) have cells in single quotation marks, with "
                f"doubled ones inside; all marks are read as text. {SINGLE_MARKS}"
            )
        if self._nameless:
            mark = self._layout.delimiter
            mend = "Put such texts in quotation marks" if self._layout.quoted else "Put a blank there"
            warn_once(
                f"{self._path}: {len(self._nameless):,} row(s) have something in columns without a name, "
                f"the first is line {self._nameless[0]}; it is not read. Was a text with {mark!r} in it cut "
                f"there? {mend}, or give the columns names."
            )

    def _say_marks(self):
        what = ""
        if self._in_quotes:
            what = f"{self._in_quotes:,} row(s) have cells in quotation marks, with doubled ones inside"
        elif self._in_marks and self._num_rows >= ENOUGH_ROWS:  # in fewer a text may be speech
            name = self._layout.header[self._in_marks[0]]
            what = f"all cells of the column {name!r} stand in quotation marks"
        elif self._may_be_excels and self._in_commas >= ENOUGH_ROWS:
            what = f"{self._in_commas:,} cells stand in quotation marks, all those with a comma and no others"
        if what:
            warn_once(
                f"{self._path}: {what}, as CSV has them; TSV is read without quoting, so all marks are read "
                f"as text. {AS_CSV}"
            )

    def _say_swallowed(self):
        forms = set(map(_form, self._known)) if self._swallowing else set()
        if several := [lines for *lines, inner in self._swallowing if inner <= forms]:
            first, last = several[0]
            warn_once(
                f"{self._path}: {len(several):,} row(s) run over several lines each of which looks like a "
                f"row, the first over lines {first} to {last}. Is a quotation mark not closed? One that "
                "begins a text opens a cell: put such a text in quotation marks, its own doubled. "
                f"{without_quotes(self._layout)}"
            )


def _form(cell):
    """A label or an id, without its numbers, which are of one form."""
    return re.sub(r"\d+", "0", cell)


def _forms_of_lines(cells, column, layout) -> set[str]:
    """The `_form` of a column in the lines of a row, where each that is not blank has as many cells as the
    header."""
    lines = io.StringIO(layout.delimiter.join(cells), newline="")
    spaced = layout.spaced or layout.padded
    rows = [row for row in cut(lines, layout.delimiter, quoted=False, spaced=spaced) if row]
    return {_form(row[column]) for row in rows} if {*map(len, rows)} == {len(cells)} else set()


def _is_in_quotes(cell, mark='"'):
    return len(cell) > 3 and cell[0] == cell[-1] == mark and 2 * mark in cell[1:-1]
