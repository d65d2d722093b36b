"""Labelled files, of every format of `FORMATS` -> rows. Nothing heavy is imported."""

import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.file_format import DELIMITED, ENDINGS, TABLES
from kbert.files.json_values import shown
from kbert.files.text_file import require_text_file
from kbert.input_pipelines.data_files import DataFile, reading_dataset
from kbert.input_pipelines.delimited_files import delimited_records, require_columns
from kbert.input_pipelines.delimited_layout import find_layout, likely_format, read_cells
from kbert.input_pipelines.empty_texts import with_texts
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.json_rows import AS_LINES, NotLines, parse_object, require_column, text_problem
from kbert.input_pipelines.label_lists import listed_words
from kbert.input_pipelines.labels import ANSWER, LEFT_OUT, RowLabels, class_label, label_set
from kbert.input_pipelines.split_columns import SplitCounter, split_columns
from kbert.input_pipelines.tables import table_rows
from kbert.input_pipelines.tables.table_paths import find_format, find_table, values_of_folders
from kbert.input_pipelines.text_lines import text_lines

# What else columns of first texts are called, in GLUE, SICK and SNLI -> those of second texts.
_SECOND = {
    "sentence1": "sentence2",
    "sentence_A": "sentence_B",
    "question1": "question2",
    "text1": "text2",
    "text_a": "text_b",
    "premise": "hypothesis",
}


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

    listed = False
    unread = _unread_seconds(dataset)

    def read(record, label, where):
        nonlocal listed
        text = text_cell(record, dataset.text, where)
        if not listed and text.startswith("[") and listed_words(text):
            listed = True
            warn_once(
                f"{where} has the text {text[:80]!r}, which looks like a list that a program printed: it is "
                "read with its brackets and quotation marks. Join its words by blanks, here and elsewhere."
            )
        for column in unread & record.keys():
            warn_once(
                f"{path}: the column {column!r} is not read, as dataset.text_pair names no column; name it "
                "where the model is to read pairs."
            )
        text_pair = text_cell(record, dataset.text_pair, where) if dataset.text_pair else None
        return LabelledText(text, text_pair, label)

    read_label = (read_label or class_label) if with_labels else None
    # Several labels may stand in columns of their own.
    label = None if read_label in (None, label_set) else dataset.label
    columns = (dataset.text, dataset.text_pair, label)
    return stream_examples(path, dataset, columns, read, with_labels, read_label)


def _unread_seconds(dataset) -> set[str]:
    """The columns of second texts, by their usual names, where none is named."""
    if dataset.text_pair:
        return set()
    return {"text_pair", _SECOND.get(dataset.text, "text_pair")} - {dataset.text, dataset.label}


def stream_records(
    path: str | Path, dataset: DatasetConfig, columns, with_labels: bool = True, optional: Iterable[str] = ()
) -> Iterator[tuple[str, dict]]:
    """Yields (where, columns by name) row by row: the file and line (or row) for messages, and its values.

    For callers that raise no errors of their own about rows; see `stream_examples`, which has the arguments
    and raises the errors.
    """

    def read(record, label, where):
        return where, record

    return stream_examples(path, dataset, columns, read, with_labels, optional=optional)


def stream_examples(
    path: str | Path,
    dataset: DatasetConfig,
    columns,
    read: Callable,
    with_labels: bool = True,
    read_label: Callable | None = None,
    optional: Iterable[str] = (),
) -> Iterator:
    """Yields what `read` makes of each row, as long as nothing is wrong.

    At the first problem the file is read on, to name all of them in one message, up to twenty rows.

    Args:
      path: a file in one of `FORMATS`, or several of a table, see `find_table`.
      dataset: names its columns.
      columns: the columns that must exist; None entries are ignored.
      read: function from (columns by name, label, file and line for messages) to an example; its ValueErrors
        are problems of their row.
      with_labels: whether the file is labelled. In a file without labels every row needs an answer, so no row
        is skipped, and one may be empty.
      read_label: as for `RowLabels`; by default the labels are None.
      optional: columns that `read` looks for and that need not be there; of a table the values of all others
        are None.

    Raises:
      ValueError: for a missing or empty file, text in another encoding, a missing (`MissingColumn`) or
        repeated column, rows with a wrong number of columns, and of a labelled file those that are empty
        (unless `dataset.skip_empty_rows`) or have no text (see `EmptyTextCounter`); it names file and lines.
    """
    problems, labels = FileProblems(path), RowLabels(dataset, read_label)
    splits = SplitCounter(path, (*columns, dataset.label, *dataset.text_columns, *dataset.labels))
    try:
        path = path if isinstance(path, Path) else Path(path)
        dataset = reading_dataset(path, dataset)
        for where, record in _records(path, dataset, columns, optional, with_labels, problems):
            label = None
            try:
                label = labels.read(record, where)
            except ValueError as error:
                problems.add(error)
            if label is LEFT_OUT:
                continue
            try:
                example = read(record, label, where)
            except ValueError as error:
                problems.add(error)
            if not problems:
                if with_labels:
                    splits.count(record)
                yield example
            elif problems.is_full:
                break
        else:
            labels.say()
            if with_labels:
                splits.say()
    except ValueError as error:
        problems.add(error)
    problems.raise_all()


def _records(path, dataset, columns, optional, with_labels, problems):
    """(where, record) of all rows that are to be read."""
    columns = [column for column in columns if column]
    known = (*columns, *dataset.text_columns, dataset.scores, *optional, with_labels and dataset.label)
    wanted = dict.fromkeys(filter(None, known))
    file_format = _require_format(path, dataset)
    read_records = _READERS[file_format].records
    records = read_records(path, file_format, dataset, columns, wanted, with_labels, problems)
    records = _not_empty(records, path, problems)
    read = (*wanted, *dataset.labels)  # which may be columns
    yield from with_texts(records, path, dataset, read, problems) if with_labels else records


def needless_settings(path: str | Path, dataset: DatasetConfig) -> dict[str, str]:
    """The fields of a `DatasetConfig` that the format of a file has no use for: name -> where it is read.

    Data in memory go with a config for files of any format, which later files may have.
    """
    file_format = find_format(path, reading_dataset(path, dataset).file_format)
    return {} if file_format is None or isinstance(path, DataFile) else _READERS[file_format].needless


def schema_labels(path: str | Path, dataset: DatasetConfig) -> tuple[str, ...]:
    """The classes that a schema names for the column of the labels, in its order; none where it names none,
    or the files of a table name different ones. Those of a file without may hold the names as texts.

    Raises:
      ValueError: as `find_table` does, for a damaged file, and where some files name classes and others
        hold numbers without names, which would be further classes.
    """
    if isinstance(path, DataFile):
        return path.classes.get(dataset.label, ())
    file_format = find_format(path, reading_dataset(path, dataset).file_format)
    if file_format not in TABLES or not (table := find_table(path, file_format)):
        return ()
    by_file = {file: table_rows.schema_classes(file, file_format) for file in table.files}
    every = {classes[dataset.label] for classes in by_file.values() if dataset.label in classes}
    for file, classes in by_file.items():
        if every and dataset.label not in classes and _holds_numbers(file, file_format, dataset.label):
            raise ValueError(
                f"{file} does not name the classes of {dataset.label!r} in its schema, which other files of "
                f"{path} do: pandas, say, leaves them out. Write all files alike."
            )
    return every.pop() if len(every) == 1 else ()


def _holds_numbers(file, file_format, column):
    values = (record[column] for _, record in table_rows.read_rows(file, file_format, [column]))
    items = itertools.chain.from_iterable(value if isinstance(value, list) else [value] for value in values)
    return any(isinstance(item, int | float) for item in items)


def _not_empty(records, path, problems):
    is_empty = True
    for record in records:
        is_empty = False
        yield record
    if is_empty and not problems:
        raise ValueError(f"{path} holds no rows; expected one per line.")


def _table_records(path, file_format, dataset, columns, wanted, with_labels, problems):
    """(where, record) of all files of a table: the wanted columns, the one of the document, and `ANSWER`."""
    wanted = dict.fromkeys(filter(None, (*wanted, dataset.document)))
    for file in find_table(path, file_format).files:
        header = table_rows.column_names(file, file_format)
        require_columns(header, file, columns, dataset, problems)
        lacking = {*columns} - {*header}
        valued = [parent for parent in file.parents if {*parent.name.split("=")[:-1]} & lacking]
        if valued:
            problems.add_hint(values_of_folders(file, valued[-1].parent))
        problems.raise_all()
        classes = table_rows.schema_classes(file, file_format).get(dataset.label, ())
        if with_labels and dataset.labels and classes and not {*classes} & {*dataset.labels}:
            problems.add_hint(
                f"The schema names the numbers in {dataset.label!r}: {shown(dict(enumerate(classes)))}. List "
                "these names in dataset.labels, in this order, or leave them out: "
                "pandas.read_parquet(OLD).to_parquet(NEW)."
            )
        read = [column for column in wanted if column in header]
        telling = [column for column in (ANSWER, *split_columns(header)) if column in {*header} - {*read}]
        if with_labels and (len(read) < len(wanted) or telling):
            readable = table_rows.readable_columns(file, file_format)
            whole = len(read) < len(wanted)  # what the file has belongs in the message
            read = [*dict.fromkeys((*read, *(name for name in readable if whole or name in telling)))]
        # That there are such columns counts, even where nobody reads them.
        unread = dict.fromkeys(column for column in header if column not in read)
        for where, record in table_rows.read_rows(file, file_format, read):
            yield where, record | unread


def _json_records(path, file_format, dataset, columns, wanted, with_labels, problems):
    """(where, record) of a file of JSON lines."""
    number, record = 0, None
    for number, line in enumerate(text_lines(path, dataset.encoding, problems), start=1):
        if not line.strip():
            continue
        try:
            record = parse_object(line, str(path), number, "of columns")
        except NotLines:
            raise
        except ValueError as error:
            problems.add(error)
            if problems.is_full:
                return
        else:
            yield f"{path} line {number}", record
    only = record if number == 1 and isinstance(record, dict) else {}
    cells = [only[name] for name in wanted if name in only] or only.values()
    is_whole = any(isinstance(cell, list | dict) for cell in cells)
    if is_whole and problems and not isinstance(path, DataFile):
        problems.add_hint(f"Its one object may hold all rows; {AS_LINES}")


class _Reader(NamedTuple):
    """How the files of a format are read.

    Args:
      records: gives the rows, with the arguments of `delimited_records`.
      needless: the fields of a `DatasetConfig` that it has no use for: name -> where they are read.
    """

    records: Callable[..., Iterator[tuple[str, dict]]]
    needless: dict[str, str]


_OF_DELIMITED = dict.fromkeys(("column_names", "delimiter", "skip_short_rows"), "in TSV and CSV files")
_READERS = {
    **dict.fromkeys(DELIMITED, _Reader(delimited_records, {})),
    "jsonl": _Reader(_json_records, _OF_DELIMITED),
    **dict.fromkeys(TABLES, _Reader(_table_records, _OF_DELIMITED | {"encoding": "in files of text"})),
}


def read_header(path: str | Path, dataset: DatasetConfig, wanted: Iterable[str]) -> list[str]:
    """The names of the columns of a TSV or CSV file: its first line, or `dataset.column_names`.

    Args:
      path: the file.
      dataset: how it is read.
      wanted: names of columns that the reader looks for, see `find_layout`.

    Raises:
      ValueError: for an empty or damaged file, for text in another encoding in its beginning, and for broken
        quotes.
    """
    problems, file_format = FileProblems(path), _require_format(path, dataset)
    if dataset.column_names:
        return list(dataset.column_names)
    lines = text_lines(path, dataset.encoding, problems)
    layout = find_layout(lines, path, file_format, dataset, list(wanted), problems)
    problems.raise_all()
    return layout.header


def read_first_row(path: str | Path, dataset: DatasetConfig) -> list[str]:
    """The cells of the first row of a TSV or CSV file, read with `dataset.column_names`; none of an empty
    one. Raises ValueError as `read_header` does."""
    problems, file_format = FileProblems(path), _require_format(path, dataset)
    lines = text_lines(path, dataset.encoding, problems)
    layout = find_layout(lines, path, file_format, dataset, [], problems)
    return next((cells for _, cells in read_cells(lines, path, layout, problems)), [])


def text_cell(record: dict, column: str, where: str) -> str:
    """The text in a column. Raises ValueError when the value is not a text."""
    require_column(record, column, where)
    if why := text_problem(record, column):
        mend = "fix the row or leave it out"
        if isinstance(record[column], list):
            mend = "write a row for each text of the list, and of negatives a column for each"
        raise ValueError(f"{where} {why}; {mend}.")
    text = record[column]
    if text[:2] in ("b'", 'b"') and len(text) > 2 and text[-1] == text[1]:
        warn_once(
            f"The column {column!r} has texts like b'...', which look like bytes that Python printed; they "
            'are read with b, quotation marks and escapes. Write their .decode("utf-8"), here and elsewhere.'
        )
    return text


def whole_choices(beginning: str, choices: Iterable[str]) -> list[str]:
    """What a model reads of choices that go on with a text of their row, as those of SWAG do."""
    return [f"{beginning} {choice}" for choice in choices]


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


def _require_format(path, dataset):
    file_format = find_format(path, dataset.file_format)
    if file_format is None:
        require_text_file(path, "rows of text")
        likely = likely_format(next(text_lines(path, None, FileProblems(path)), ""))
        quotes = "; csv and dataset.delimiter='\\t' where Excel or pandas wrote it" if likely == "tsv" else ""
        raise ValueError(
            f"{path}: cannot tell the format from the name; end it in one of {', '.join(ENDINGS)}, or set "
            f"dataset.file_format{likely and f'={likely}, which its first line looks like'}{quotes}."
        )
    return file_format
