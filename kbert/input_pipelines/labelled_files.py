"""Labelled TSV, CSV and JSONL files, and tables -> rows. Nothing heavy is imported."""

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.compression import name_when_unpacked
from kbert.files.json_file import parse_json
from kbert.files.text_file import read_lines
from kbert.input_pipelines.json_rows import MissingColumn, require_column, why_no_text
from kbert.input_pipelines.labels import class_label, read_labels
from kbert.input_pipelines.tables import table_rows
from kbert.input_pipelines.tables.table_paths import find_table

# In characters. The default of the csv module, 131,072, is too small for a book. Without any limit, a quote
# that is never closed would make one cell of the whole rest of a CSV file.
_LONGEST_CELL = 1 << 24


class LabelledText(NamedTuple):
    """One labelled text, or pair of texts.

    `label` is the result of the task's label reader: a string for one class, a float for regression, a tuple
    of strings for several classes; None when labels are not read.
    """

    text: str
    text_pair: str | None
    label: str | float | tuple[str, ...] | None


def read_rows(path: str | Path, dataset: DatasetConfig) -> list[LabelledText]:
    """Reads the columns that `dataset` names, all rows at once; see `stream_rows`."""
    return list(stream_rows(path, dataset))


def stream_rows(
    path: str | Path, dataset: DatasetConfig, with_labels: bool = True, read_label=None
) -> Iterator[LabelledText]:
    """Yields texts and labels row by row; one line, or a few hundred rows of a table, is in memory at a time.

    Args:
      path: the file.
      dataset: names its columns.
      with_labels: whether to read labels.
      read_label: function from (record, dataset, where) to a label: one of kbert/input_pipelines/labels.py,
        by default `class_label`.

    Raises:
      ValueError: as `stream_records` does; also for a text or label of the wrong type, and for a label that
        is not in `dataset.labels` (if that lists any).
    """
    read_label = read_label or class_label
    columns = (dataset.text, dataset.text_pair)
    records = stream_records(path, dataset, columns, with_labels)
    for where, record, label in read_labels(records, dataset, read_label if with_labels else None):
        text = text_cell(record, dataset.text, where)
        text_pair = text_cell(record, dataset.text_pair, where) if dataset.text_pair else None
        yield LabelledText(text, text_pair, label)


def stream_records(
    path: str | Path, dataset: DatasetConfig, columns, with_labels: bool = True
) -> Iterator[tuple[str, dict]]:
    """Yields (where, columns by name) row by row: the file and line (or row) for messages, and its values.

    Args:
      path: a TSV, CSV or JSONL file, or a table, see `find_table`: parquet, Arrow, a folder of `datasets`.
      dataset: names its columns.
      columns: the columns that must exist, which is checked before any row is read; None entries are ignored.
      with_labels: whether the file is labelled. In a file without labels every row needs an answer, so no row
        is skipped, and one may be empty.

    Raises:
      ValueError: for a missing or empty file, bytes that are not UTF-8, a missing (`MissingColumn`) or
        repeated column, a row with a wrong number of columns, or a labelled one without any text (see
        `EmptyTexts`); the message names file and line.
    """
    path = Path(path)
    wanted = [column for column in columns if column]
    if table := find_table(path, dataset.file_format):
        records = _table_records(table, dataset, wanted, with_labels)
    else:
        records = _text_records(path, dataset, wanted, with_labels and dataset.skip_short_rows)
    records = _not_empty(records, path)
    yield from _with_texts(records, dataset) if with_labels else records


def _with_texts(records, dataset):
    texts, empty = _text_columns(dataset), EmptyTexts()
    for where, record in records:
        empty.check({column: record[column] for column in texts if column in record}, where)
        yield where, record
    empty.say()


class EmptyTexts:
    """Refuses labelled examples with nothing to read; counts those with nothing in one of several texts.

    GLUE's QQP has two pairs with an empty second question (github.com/huggingface/datasets/issues/277), which
    are used in all figures. One object is for one reading of a file.
    """

    def __init__(self):
        self._number, self._first = 0, None

    def check(self, texts: Mapping, where: str):
        """Counts an example with an empty text.

        Args:
          texts: name -> text; anything but a string is a matter of others.
          where: file and line, for messages.

        Raises:
          ValueError: when all texts of the example are empty.
        """
        empty = [name for name, text in texts.items() if isinstance(text, str) and not text.strip()]
        if empty and len(empty) == len(texts):
            columns = f"column{'s' if len(empty) > 1 else ''} {', '.join(map(repr, empty))}"
            raise ValueError(f"{where} has no text in {columns}; mend the row or leave it out.")
        if empty:
            self._number += 1
            self._first = self._first or where

    def say(self):
        """Warns of the examples that were counted."""
        if self._number:
            warn_once(
                f"{self._number:,} example(s) have an empty text beside others and are used as they are; the "
                f"first is {self._first}"
            )


def _text_columns(dataset):
    return tuple(filter(None, (dataset.text, dataset.text_pair, *dataset.choices, *dataset.negatives)))


def _not_empty(records, path):
    is_empty = True
    for record in records:
        is_empty = False
        yield record
    if is_empty:
        raise ValueError(f"{path} holds no rows; expected labelled texts, one per line.")


def _table_records(table, dataset, columns, with_labels):
    """(where, record) of all files of a table, with the columns that the dataset names."""
    label = dataset.label if with_labels else None
    wanted = dict.fromkeys(filter(None, (*columns, *_text_columns(dataset), dataset.document, label)))
    for file in table.files:
        header = table_rows.column_names(file, table.file_format)
        _require_columns(header, file, columns, dataset.label)
        read = [column for column in wanted if column in header]
        if with_labels and len(read) < len(wanted):  # what the file has belongs in the message
            read = table_rows.readable_columns(file, table.file_format)
        # Without labels it still counts that there is such a column.
        unread = {dataset.label: None} if not with_labels and dataset.label in header else {}
        for where, record in table_rows.read_rows(file, table.file_format, read):
            yield where, record | unread


def _text_records(path, dataset, columns, skip_short):
    """(where, record) of a file of lines."""
    file_format = dataset.file_format or _file_format(path)
    if file_format != "jsonl":
        yield from _delimited_records(path, file_format, dataset, columns, skip_short)
        return
    for number, line in enumerate(_lines(path), start=1):
        if line.strip():
            where = f"{path} line {number}"
            record = parse_json(line, where)
            if not isinstance(record, dict):
                raise ValueError(f"{where}: expected an object of columns, received {_cut(record)}.")
            yield where, record


def count_rows(path: str | Path, dataset: DatasetConfig) -> int:
    """The number of rows of a labelled file, without a look into them: much faster than reading.

    Rows that `dataset.skip_short_rows` leaves out are counted too.

    Raises:
      ValueError: when the file is missing, damaged, not in UTF-8, or has broken quotes.
    """
    path = Path(path)
    if table := find_table(path, dataset.file_format):
        return sum(table_rows.count_rows(file, table.file_format) for file in table.files)
    file_format = dataset.file_format or _file_format(path)
    if file_format == "jsonl":
        return sum(1 for line in _lines(path) if line.strip())
    number = sum(1 for _, cells in _read_cells(path, file_format) if cells)
    return number - (not dataset.column_names)  # the first line names the columns


def read_header(path: str | Path, dataset: DatasetConfig) -> list[str]:
    """The names of the columns of a TSV or CSV file: its first line, or `dataset.column_names`.

    Raises:
      ValueError: for an empty file, for damage or bytes that are not UTF-8 in its beginning, and for broken
        quotes.
    """
    if dataset.column_names:
        return list(dataset.column_names)
    path = Path(path)
    return _take_header(_read_cells(path, dataset.file_format or _file_format(path)), path)


def text_cell(record: dict, column: str, where: str) -> str:
    """The text in a column. Raises ValueError when the value is not a text."""
    require_column(record, column, where)
    if why := why_no_text(record, column):
        raise ValueError(f"{where} {why}; mend the row or leave it out.")
    return record[column]


def examples_fingerprint(examples: Iterable[tuple]) -> str:
    """SHA-256 of all texts and labels in their order; it does not depend on the format of the file."""
    content = hashlib.sha256()

    def add(cell):
        if isinstance(cell, tuple):
            content.update(b"(%d:" % len(cell))
            for item in cell:
                add(item)
            return
        text = cell if isinstance(cell, str) else repr(cell)
        encoded = b"" if cell is None else text.encode("utf-8", "surrogatepass")
        # The length comes first, so that different cells never give the same bytes.
        content.update((b"-" if cell is None else b"%d:" % len(encoded)) + encoded)

    for example in examples:
        for cell in example:
            add(cell)
    return content.hexdigest()


def _lines(path) -> Iterator[str]:
    """The lines of a file with their ends: a carriage return alone is one, too."""
    for line in read_lines(path):
        yield from io.StringIO(f"{line}\n", newline="")


def _read_cells(path, file_format) -> Iterator[tuple[int, list[str]]]:
    """(number of the last line, cells) of each row of a TSV or CSV file; a blank line has no cells."""
    quoting: dict[str, Any] = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if file_format == "tsv" else {}
    csv.field_size_limit(_LONGEST_CELL)
    reader = csv.reader(_lines(path), strict=True, **quoting)
    try:
        for cells in reader:
            yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{path} line {reader.line_num}: {error}.") from None


def _delimited_records(path, file_format, dataset, columns, skip_short):
    rows = _read_cells(path, file_format)
    header = list(dataset.column_names) or _take_header(rows, path)
    _require_columns(header, path, columns, dataset.label)
    short = []  # numbers of skipped lines
    for number, cells in rows:
        if not cells:
            continue
        if skip_short and len(cells) < len(header):
            short.append(number)
            continue
        if len(cells) < len(header) or any(cells[len(header) :]):
            raise ValueError(
                f"{path} line {number}: {len(cells)} columns where {len(header)} were expected "
                f"({_cut(', '.join(map(_plain, header)))}); mend the line."
            )
        yield f"{path} line {number}", dict(zip(header, cells, strict=False))
    if short:
        shown = ", ".join(map(str, short[:5])) + (", ..." if len(short) > 5 else "")
        warn_once(f"{path}: {len(short)} row(s) with too few columns are skipped: line {shown}")


def _take_header(rows, path) -> list[str]:
    _, header = next(rows, (0, []))
    if not header:
        raise ValueError(f"{path} is empty; expected a first line with the names of the columns.")
    return header


def _require_columns(header, path, columns, label):
    for column in columns:
        if column not in header:
            raise MissingColumn(
                f"{path} has no column {column!r}; its columns are {_cut(header)}.{other_separator(header)}",
                "Name the columns in the config, or by --override=dataset.text=... (dataset.text, "
                "dataset.text_pair, dataset.label; dataset.column_names for a file without a header line).",
            )
    for column in (*columns, label):
        if header.count(column) > 1:
            raise ValueError(
                f"{path} has {header.count(column)} columns {column!r}; its columns are {_cut(header)}. "
                "Give each column a different name."
            )


def other_separator(header: Sequence[str]) -> str:
    """A sentence for a message where all columns stand in one name, with another separator; else ""."""
    if len(header) != 1:
        return ""
    separator = next((mark for mark in (";", "\t", "|", ",") if mark in header[0]), None)
    return (
        f" They look as if {separator!r} separates them: .csv files have ',', .tsv files tabs."
        if separator
        else ""
    )


def _cut(value):
    """Shortens a value for a message: a wrong cell may be very long."""
    return str(value)[:500]


def _plain(name):
    return name if name.isprintable() else repr(name)


def _file_format(path):
    name = name_when_unpacked(path)
    for file_format in ("tsv", "csv", "jsonl"):
        if name.endswith("." + file_format):
            return file_format
    raise ValueError(
        f"{path}: cannot tell the format from the name; end it in .tsv, .csv, .jsonl or .parquet, or set "
        "dataset.file_format."
    )
