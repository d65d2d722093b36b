"""TSV and CSV files -> the names of their columns, and the cells of each row. Nothing heavy is imported."""

import csv
import io
import itertools
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.file_format import DELIMITED, FORMATS, format_by_name
from kbert.files.json_values import first_few
from kbert.files.near_names import did_you_mean, nearest_name
from kbert.files.text_encoding import WINDOWS_FOR, is_misread, likely_encoding, shown_as
from kbert.files.text_file import Problem, find_encoding, numbered_lines, require_text_file
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.label_lists import label_columns

# In characters. The default of the csv module, 131,072, is too small for a book. Without any limit, a quote
# that is never closed would make one cell of the whole rest of a CSV file.
_LONGEST_CELL = 1 << 24
_ENOUGH_ROWS = 10  # all of which have quotation marks around a cell, or blanks behind the delimiters
_ENOUGH_OF_LINES = 1 << 16
_AS_CSV = (
    "To read it with quotes, end its name in .csv, whose tabs are seen, or set "
    "--override=dataset.file_format=csv and --override='dataset.delimiter=\"\\t\"' where there is a config."
)
_SINGLE_MARKS = (
    "CSV has double ones: write the file again with them, pandas.read_csv(OLD, sep=..., "
    """quotechar="'").to_csv(NEW, index=False)."""
)
_DELIMITERS = (",", ";", "\t", "|")
_IDS = ("id", "_id")  # columns that tell a row from lines of a text, where there are no labels
_KNOWN = 10_000  # labels or ids that are kept for it
_IN_TEXTS = (
    "If one stands in a text, write a blank for it or put the text in quotation marks, as pandas does with "
    "to_csv(quoting=csv.QUOTE_ALL)."
)
TEXTS_ALONE = "A file with a text in each line, and no columns, has another ending, such as .txt."
_GET_AGAIN = "get the texts again, or fix them, for example with ftfy"
_DAMAGES: dict[Callable[[str], object], str] = {
    is_misread: "look as if UTF-8 had been read as another encoding and saved, as {shown!r}; get the texts "
    "in UTF-8, or fix them, for example with ftfy",
    re.compile("\ufffd").search: "hold U+FFFD, which stands for characters that were lost when a wrong "
    "encoding was read; get the texts again",
}
_CONTROLS = (
    "hold control characters of U+0080 to U+009F, which WordPiece deletes, as those of a text that is read "
    "in a wrong encoding; {mend}"
)
_EXCEL_LINE = re.compile(r'"?sep=(.)"?', re.IGNORECASE)  # the first line of a file that is written for Excel


def text_lines(path: str | Path, encoding: str | None, problems: FileProblems) -> Iterator[str]:
    """The lines of a labelled file with their ends: a carriage return alone is one, too.

    Args:
      path: the file.
      encoding: `dataset.encoding`.
      problems: collects what cannot be read. Such a line is read as well as it can be, so that the rest of
        the file is looked at.

    Raises:
      ValueError: for a file that is missing or no text.
    """
    require_text_file(path, "rows of text")
    own = find_encoding(path, encoding)
    likely: str | None = None
    number, damaged = 0, DamagedLines(path, own)
    for number, _, line in numbered_lines(path, encoding=own):
        if isinstance(line, Problem):
            if not line.undecoded:
                problems.add(f"{path} line {number} {line.what}; {line.remedy}.")
            else:
                problems.add_undecoded(number, line.what, line.undecoded)
            likely = likely or likely_encoding(line.undecoded) or "latin-1"
            line = line.undecoded.decode(likely, "replace")
        elif not line.isascii():
            problems.utf8_lines += own == "utf-8"
            damaged.look_at(line)
        if "\r" in line:
            problems.split_lines += [number] * line.rstrip("\r").count("\r")
            yield from io.StringIO(f"{line}\n", newline="")
        else:
            yield f"{line}\n"
    damaged.say(number)


class DamagedLines:
    """Counts lines that were read in another encoding than theirs, here or before they were saved. A few are
    passed over: STS-B and RTE have one or two among thousands."""

    def __init__(self, path, encoding):
        self._path, self._encoding = path, encoding
        self._likely = WINDOWS_FOR.get(encoding, encoding)
        self._is_better = self._likely != encoding  # and has a character for each byte
        # No text has these, but for U+0085, which ends lines of some, and is "…" of Windows.
        controls = "[\x80-\x9f]" if self._is_better else "[\x80-\x84\x86-\x9f]"
        self._damages = _DAMAGES | {re.compile(controls).search: _CONTROLS}
        self._numbers, self._firsts = Counter[str](), {}

    def look_at(self, line):
        for is_in, sentence in self._damages.items():
            if is_in(line):
                content = line.encode(self._encoding, "replace")
                self._is_better &= "\ufffd" not in content.decode(self._likely, "replace")
                self._numbers[sentence] += 1
                self._firsts.setdefault(sentence, content)

    def say(self, num_lines):
        """Warns of what is in more than a line of a hundred."""
        for sentence, number in self._numbers.items():
            if number * 100 > num_lines:
                shown = shown_as(self._firsts[sentence], self._likely)
                mend = f"set dataset.encoding={self._likely}, which gives {shown!r}"
                sentence = sentence.format(shown=shown, mend=mend if self._is_better else _GET_AGAIN)
                warn_once(f"{self._path}: {number:,} line(s) {sentence}.")


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


def _with_beginning(layout, lines) -> Layout:
    """The layout, also `spaced` where the first rows are, though the header is not; or `padded` where none of
    their cells is in quotes: what writes f"{label}, {text}" quotes nothing."""
    first = [*layout.first, *itertools.islice(lines, _ENOUGH_ROWS)]
    if layout.spaced or not layout.quoted:
        return layout._replace(first=first)
    mark = re.escape(layout.delimiter)
    in_quotes = re.compile(rf'(^|{mark} +)"(?:[^"\n]|"")*"(?=\s*(?:{mark}|$))')
    emptied = [in_quotes.subn(r"\1", line[:_ENOUGH_OF_LINES]) for line in first]
    rows = _cut((line for line, _ in emptied), layout.delimiter)
    cells = list(itertools.chain.from_iterable(row[1:] for row in rows))
    padded = bool(cells) and all(cell[:1] == " " for cell in cells)
    spaced = padded and any(number for _, number in emptied)
    return layout._replace(first=first, spaced=spaced, padded=padded and not spaced)


def require_columns(
    header: list[str],
    path: str | Path,
    columns: Collection[str],
    dataset: DatasetConfig,
    problems: FileProblems,
):
    """Keeps a problem for each column that is not there, and for each that is there twice."""
    for column in columns:
        if column not in header:
            what = f"{path} has no column {column!r}; its columns are {str(header)[:500]}."
            what += did_you_mean(column, header)
            problems.add(MissingColumn(what, _naming_advice(column, header, dataset), column))
            if any(map(_in_marks, header)):
                problems.add_hint(
                    "Names of columns stand in quotation marks: CSV reads double ones as such, TSV none; for "
                    "TSV with quotes set dataset.file_format=csv and dataset.delimiter='\\t'."
                )
    read = (*columns, *dataset.text_columns, dataset.scores, dataset.label, *label_columns(header, dataset))
    for column in dict.fromkeys(filter(None, read)):
        if header.count(column) > 1:
            problems.add(
                f"{path} has {header.count(column)} columns {column!r}; its columns are {str(header)[:500]}. "
                "Give each column a different name."
            )


def _in_marks(name):
    return len(name) > 1 and name[0] == name[-1] and name[0] in "\"'"


def _naming_advice(column, header, dataset):
    near = nearest_name(column, header)
    names = {getattr(dataset, field): field for field in ("label", "text_pair", "text")}
    if header and header[0].startswith("__label__"):
        return (
            "It looks like fastText's form. Make two columns of it, sed 's/ /\\t/' OLD > NEW.tsv, and set "
            """--override='dataset.column_names=["label", "text"]'."""
        )
    if column == dataset.label and dataset.labels and {*dataset.labels} <= {*header}:
        return (
            f"Of columns of 0 and 1 make one: df[{column!r}] = df[{list(dataset.labels)}].idxmax(axis=1); "
            'for texts with several labels set task = "multi_label_classification".'
        )
    if near and column in names:
        if _in_marks(near):
            return ""
        key = f"dataset.{names[column]}"
        return f"Write {shlex.quote(f'--override={key}={near}')} or, in the config, {key}."
    return (
        "Name the columns in the config, or by --override=dataset.text=... where the command has it "
        "(dataset.text, dataset.text_pair, dataset.label; dataset.column_names for a file without a header "
        "line)."
    )


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
    delimiter = _find_delimiter(first, (usual, own, *_DELIMITERS), dataset.column_names, wanted)
    quoted = file_format == "csv" or delimiter not in (usual, own)
    if delimiter != usual:
        warn_once(
            f"{path}: {delimiter!r} separates its columns, not {usual!r}; it is read so, "
            f"{'as CSV with' if quoted else 'without'} quotes. dataset.delimiter sets it."
        )
    if dataset.column_names:
        return Layout(delimiter, quoted, list(dataset.column_names), [first] if first else [], skipped)
    names = next(_cut([first], delimiter, quoted), [])
    if not quoted and names and all(map(_in_marks, names)) and not {*names} & {*wanted}:
        quoted = True
        warn_once(
            f"{path}: the names of its columns stand in quotation marks, so it is read as CSV, with quotes. "
            "dataset.file_format=csv says so."
        )
    spaced = quoted and any(name[:1] == " " and name.strip() for name in names[1:])
    rows = _cut(itertools.chain([first], lines), delimiter, quoted, spaced=spaced)
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
    cells = {mark: [_bare(cell) for cell in next(_cut([line], mark), [])] for mark in marks}
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


def likely_format(line: str) -> str:
    """ "jsonl", "tsv" or "csv": what a first line looks like; "" for a line without a sign of any."""
    if line.lstrip().startswith("{"):
        return "jsonl"
    return "tsv" if "\t" in line else "csv" if set(",;|") & {*line} else ""


def _cut(lines, delimiter, quoted=True, strict=False, spaced=False):
    csv.field_size_limit(_LONGEST_CELL)
    return csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
        skipinitialspace=spaced,
        strict=strict,
    )


def _bare(name):
    """A name as it is compared: a byte order mark stands before it where files were joined."""
    return name.strip().strip('\ufeff"').strip().casefold()


def read_cells(
    lines: Iterator[str], path: str | Path, layout: Layout, problems: FileProblems
) -> Iterator[tuple[int, list[str]]]:
    """(number of its last line, cells) of each row below the header; a blank line has no cells.

    A row whose quotes are broken is a problem, and left out.
    """
    lines = itertools.chain(layout.first, lines)
    reader = _cut(lines, layout.delimiter, layout.quoted, strict=True, spaced=layout.spaced)
    while not problems.is_full:
        begin = reader.line_num + layout.skipped + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            problems.add(f"{path} line {begin}: {_quote_problem(str(error))} {_without_quotes(layout)}")
        else:
            cells = [cell.lstrip(" ") for cell in cells] if layout.padded else cells
            yield reader.line_num + layout.skipped, cells


def _without_quotes(layout):
    return (
        "If the file is written without quoting, and marks are text, set dataset.file_format=tsv and "
        f"dataset.delimiter={layout.delimiter!r} where there is a config, or end its name in .tsv where tabs "
        "separate."
    )


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


def delimited_records(
    path: str | Path,
    file_format: str,
    dataset: DatasetConfig,
    columns: Collection[str],
    wanted: Collection[str],
    with_labels: bool,
    problems: FileProblems,
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yields (file and line, cells by column) of each row that has them.

    A blank line is no row, except where an answer for each is wanted and there is one column: an empty cell.

    Args:
      path: the file.
      file_format: "tsv" or "csv".
      dataset: how it is read.
      columns: those that must be there.
      wanted: all that are looked for, see `find_layout`.
      with_labels: whether the file is labelled. Then `dataset.skip_short_rows` says whether rows with too few
        cells are left out and counted, instead of being a problem.
      problems: collects what is wrong.
    """
    lines = text_lines(path, dataset.encoding, problems)
    layout = _with_beginning(find_layout(lines, path, file_format, dataset, wanted, problems), lines)
    header, short, whole, in_quotes, in_single, cut = layout.header, [], 0, 0, 0, []
    marks_of_rows = (dataset.label, *dataset.labels, *_IDS)
    row_mark = next((header.index(name) for name in marks_of_rows if name in header), None)
    known, swallowing, kept, in_commas, may_be_excels = set(), [], 0, 0, not layout.quoted
    in_marks = [] if layout.quoted else [header.index(name) for name in columns if name in header]
    require_columns(header, path, columns, dataset, problems)
    least = len(header)
    while least > 1 and not header[least - 1].strip():  # a delimiter at the end of each line
        least -= 1
    named = header[:least]
    for number, cells in read_cells(lines, path, layout, problems):
        where, line = f"{path} line {number}", cells
        if len(cells) != len(header) and len(cells) >= least and not any(cells[len(header) :]):
            cells = [*cells[: len(header)], *[""] * (len(header) - len(cells))]  # of a delimiter at the end
        if len(cells) == len(header):
            joined = "".join(cells)  # first: this is done for every row
            whole += 1
            in_quotes += not layout.quoted and '""' in joined and any(map(_is_in_quotes, cells))
            if may_be_excels and ("," in joined or '"' in joined):  # Excel marks the cells with a comma
                with_marks = [cell for cell in cells if cell[:1] == cell[1:][-1:] == '"']
                may_be_excels = with_marks == [cell for cell in cells if "," in cell]
                in_commas += len(with_marks)
            in_marks = [column for column in in_marks if cells[column][:1] == cells[column][1:][-1:] == '"']
            kept += "\r" in joined and joined.replace("\r\n", "").count("\r")
            in_single += "''" in joined and any(_is_in_quotes(cell, "'") for cell in cells)
            if least < len(header) and any(map(str.strip, cells[least:])):
                cut.append(number)
            if row_mark is not None:
                if len(known) < _KNOWN:  # ids of millions of rows need not be held
                    known.add(cells[row_mark])
                if "\n" in joined and (inner := _forms_of_lines(line, row_mark, layout)):
                    swallowing.append((number - joined.count("\n"), number, inner))
            yield where, dict(zip(named, cells, strict=False))
        elif not cells and (with_labels or len(header) > 1):
            continue
        elif not any(cell.strip() for cell in cells):
            yield where, dict.fromkeys(named, "")
        elif with_labels and dataset.skip_short_rows and len(cells) < least:
            short.append(number)
        else:
            problems.add(_wrong_number(where, cells, header))
            is_named = format_by_name(path) in DELIMITED
            are_texts = is_named and dataset.column_names and not (with_labels or _is_cut(cells))
            problems.add_hint(TEXTS_ALONE if are_texts else _hint(cells, layout))
            problems.add_hint(
                f"A carriage return alone ends a row. {_IN_TEXTS}" if problems.split_lines else ""
            )
    if whole < _ENOUGH_ROWS:  # a text may be speech
        in_marks = []
    what = ""
    if in_quotes:
        what = f"{in_quotes:,} row(s) have cells in quotation marks, with doubled ones inside"
    elif in_marks:
        what = f"all cells of the column {header[in_marks[0]]!r} stand in quotation marks"
    elif may_be_excels and in_commas >= _ENOUGH_ROWS:
        what = f"{in_commas:,} cells stand in quotation marks, all those with a comma and no others"
    if what:
        warn_once(
            f"{path}: {what}, as CSV has them; TSV is read without quoting, so all marks are read as text. "
            f"{_AS_CSV}"
        )
    forms = set(map(_form, known)) if swallowing else set()
    if several := [lines for *lines, inner in swallowing if inner <= forms]:
        first, last = several[0]
        warn_once(
            f"{path}: {len(several):,} row(s) run over several lines each of which looks like a row, the "
            f"first over lines {first} to {last}. Is a quotation mark not closed? One that begins a text "
            f"opens a cell: put such a text in quotation marks, its own doubled. {_without_quotes(layout)}"
        )
    # In a file of carriage returns alone all rows end so.
    if kept < len(problems.split_lines) < whole - 1:
        warn_once(
            f"{path}: {len(problems.split_lines) - kept:,} row(s) end with a carriage return alone, others "
            f"with a line feed; the first is in line {problems.split_lines[0]}. {_IN_TEXTS}"
        )
    if in_single:
        warn_once(
            f"{path}: {in_single:,} row(s) have cells in single quotation marks, with doubled ones inside; "
            f"all marks are read as text. {_SINGLE_MARKS}"
        )
    if cut:
        warn_once(
            f"{path}: {len(cut):,} row(s) have something in columns without a name, the first is line "
            f"{cut[0]}; it is not read. Was a text with {layout.delimiter!r} in it cut there? "
            + ("Put such texts in quotation marks" if layout.quoted else "Put a blank there")
            + ", or give the columns names."
        )
    if short:
        lines = first_few(short, 5)
        warn_once(f"{path}: {len(short):,} row(s) with too few columns are skipped: line {lines}")


def _is_cut(cells):
    """Whether a line has several cells, or may have them by another delimiter."""
    return len(cells) > 1 or any(delimiter in cells[0] for delimiter in _DELIMITERS[1:])


def _form(cell):
    """A label or an id, without its numbers, which are of one form."""
    return re.sub(r"\d+", "0", cell)


def _forms_of_lines(cells, column, layout) -> set[str]:
    """The `_form` of a column in the lines of a row, where each that is not blank has as many cells as the
    header."""
    lines = io.StringIO(layout.delimiter.join(cells), newline="")
    spaced = layout.spaced or layout.padded
    rows = [row for row in _cut(lines, layout.delimiter, quoted=False, spaced=spaced) if row]
    return {_form(row[column]) for row in rows} if {*map(len, rows)} == {len(cells)} else set()


def _is_in_quotes(cell, mark='"'):
    return len(cell) > 3 and cell[0] == cell[-1] == mark and 2 * mark in cell[1:-1]


def _wrong_number(where, cells, header):
    shown = ", ".join(name if name.isprintable() else repr(name) for name in header)[:500]
    return f"{where}: {len(cells)} columns where {len(header)} were expected ({shown}); fix the line."


def _hint(cells, layout) -> str:
    """What may be the reason for a wrong number of cells, said once."""
    mark = layout.delimiter
    if len(cells) == len(layout.header) + 1 and cells[0].strip('" ').isdigit():
        return (
            "If each row begins with its number, for which the header has no name, as R's write.table writes "
            "it: write it with row.names=FALSE, or put a name before the others."
        )
    if not layout.quoted and any('"' in cell for cell in cells):
        return (
            "TSV is read without quoting, and these rows have quotation marks, which may stand around texts "
            f"that have line ends or tabs in them, as Excel and pandas write these. {_AS_CSV}"
        )
    if len(cells) > len(layout.header) and re.search(r"(^|\0) *'.*' *(\0|$)", "\0".join(cells), re.DOTALL):
        return f"Do single quotation marks stand around texts with {mark!r} in them? {_SINGLE_MARKS}"
    if layout.padded and any('"' in cell for cell in cells):
        return (
            f"Blanks stand behind {mark!r}, and no cell of the first {_ENOUGH_ROWS} rows in quotation marks, "
            "so those further down are text. If they stand around texts, write the file again without the "
            "blanks: pandas.read_csv(OLD, sep=..., skipinitialspace=True).to_csv(NEW, index=False)."
        )
    if layout.quoted and len(cells) > len(layout.header):
        return f'A text with {mark!r} in it has to stand in quotation marks: "one{mark} two".'
    return ""
