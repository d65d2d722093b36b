"""Files and tables that are to be answered -> examples, by named columns or line by line.

Nothing heavy is imported.
"""

import itertools
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from kbert.config import DatasetConfig
from kbert.files.file_format import FORMATS
from kbert.input_pipelines.data_in_memory import column_names, read_rows
from kbert.input_pipelines.delimited_files import TEXTS_ALONE
from kbert.input_pipelines.input_columns import (
    ID_COLUMN,
    example_of_row,
    find_columns,
    match_columns,
    names_in,
    possible_columns,
    with_json_id,
)
from kbert.input_pipelines.labelled_files import read_header, stream_examples, stream_records
from kbert.input_pipelines.tables import table_rows
from kbert.input_pipelines.tables.table_paths import find_format, find_table
from kbert.input_pipelines.unlabelled_format import (
    lines_of_file,
    named_format,
    naming_format,
    with_own_format,
)
from kbert.input_pipelines.unlabelled_lines import examples_from_lines, lines_of_text, text_and_pair

_LOOKED_AT = 20  # of the first texts of a file
_MOST_KEYS = 1024  # sets of keys of JSON lines that are remembered
_LINES_ADVICE = f" {TEXTS_ALONE}"


def has_columns(path: str | Path, dataset: DatasetConfig | None = None) -> bool:
    """Whether a file has columns with names, as a table, TSV or CSV. Its format is said by the ending of its
    name, before that of a compressed one; a name that says none has the `file_format` of the run's dataset,
    but for lines with one column where the run's files have several and no header.
    Raises ValueError as `find_format` and `find_compression` do."""
    file_format = find_format(path, with_own_format(path, dataset).file_format)
    return file_format is not None and FORMATS[file_format].has_header


def has_rows(path: str | Path, dataset: DatasetConfig | None = None) -> bool:
    """Whether a file is read by columns, in one of `FORMATS`; else each line is a text. As `has_columns`."""
    return find_format(path, with_own_format(path, dataset).file_format) is not None


def count_rows(
    path: str | Path, dataset: DatasetConfig | None = None, inputs: Collection[tuple[str, ...]] = ()
) -> int:
    """The number of rows of a file that `has_rows`, for a model of which nothing more is known.

    Args:
      path, dataset: as for `examples_from_columns`.
      inputs: the columns of one of these must be there, where the file has a header.

    Raises:
      ValueError: where the file cannot be read, or has other columns.
    """
    own = with_own_format(path, dataset)
    if table := find_table(path, own.file_format):
        for file in table.files if inputs else ():
            find_columns(table_rows.column_names(file, table.file_format), file, inputs, own)
        return sum(table_rows.count_rows(file, table.file_format) for file in table.files)
    if inputs and has_columns(path, dataset):
        find_columns(_header(path, own, inputs), path, inputs, own, _LINES_ADVICE)
    return sum(1 for _ in _read_records(path, own, inputs))


def examples_of_file(
    path: str | Path, inputs: Sequence[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> Iterator[dict]:
    """The examples of a file: as `examples_from_columns` reads it if it `has_rows`, else as
    `examples_from_lines`. Their arguments and errors."""
    if has_rows(path, dataset):
        return examples_from_columns(path, inputs, dataset)
    return examples_from_lines(inputs, lines_of_file(path, dataset or DatasetConfig()), str(path), dataset)


def with_checked_texts(
    examples: Iterator[dict], path, dataset: DatasetConfig | None, files
) -> Iterator[dict]:
    """The examples of a file, of which the first are read at once.

    Args:
      examples: of `examples_of_file`.
      path, dataset: as for it.
      files: the `Files` of the task, or None.

    Raises:
      ValueError: as `Files.require_texts` does.
    """
    first = list(itertools.islice(examples, _LOOKED_AT))
    if files:
        texts = [example["text"] for example in first if isinstance(example.get("text"), str)]
        files.require_texts(path, with_own_format(path, dataset), texts)
    return itertools.chain(first, examples)


def examples_from_columns(
    path: str | Path, inputs: Collection[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> Iterator[dict]:
    """The examples of a file that `has_rows`; other columns than those of inputs and `id` are not read.

    `text`, `text_pair` and `choices` stand in the columns that the dataset names, else in columns of these
    names, as all other inputs do: all of them where one column would be two inputs. Choices in the dataset's
    columns begin with its `text_pair`, as in training. A second text without a value is left out of its
    example, see `with_values`.

    Args:
      path: the file; in JSON lines the keys of each row are its columns.
      inputs: the inputs of each signature of the task that answers texts.
      dataset: of the run's config, whose files had such columns.

    Raises:
      ValueError: at once, for a file whose header has the columns of no signature; while it is read, for
        such a row, and as `stream_examples` does.
    """
    own = with_own_format(path, dataset)
    with naming_format(path, own):
        if not has_columns(path, dataset):
            return _rows_with_keys(path, inputs, own)
        return (example for _, example in _rows_of_columns(path, inputs, own, is_whole=False))


def rows_and_examples(
    path: str | Path, inputs: Collection[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> Iterator[tuple[dict, dict]]:
    """(all columns, the example) of each row of a file that `has_columns`. Arguments of
    `examples_from_columns`.

    Raises:
      ValueError: for a name that two columns have, and a column that cannot be read; and as
        `examples_from_columns` does.
    """
    return _rows_of_columns(path, inputs, with_own_format(path, dataset), is_whole=True)


def _rows_of_columns(path, inputs, dataset, is_whole):
    """(columns, example) of each row. Each file of a table may have other columns, and no others are read
    than those of inputs, unless the row `is_whole`: they may hold what is no text."""
    table = find_table(path, dataset.file_format)
    advice = _LINES_ADVICE if table or named_format(path) else ""
    read = []
    for file in table.files if table else (path,):
        header = table_rows.column_names(file, table.file_format) if table else _header(path, dataset, inputs)
        columns = match_columns(header, file, inputs, dataset, advice)
        if is_whole:
            _require_different(header, file)
        read.append((file, columns, header if is_whole and table else names_in(columns)))

    def rows():
        for file, columns, names in read:
            if table:
                records = table_rows.read_rows(file, table.file_format, names)
            else:
                records = _read_records(path, dataset, inputs, names)
            for where, record in records:
                yield record, with_json_id(example_of_row(record, columns, path), where)

    return rows()


def _rows_with_keys(path, inputs, dataset):
    """Those of JSON lines: each row may have other keys; no key is an input in one and another thing in the
    next."""
    by_keys: dict[tuple, dict] = {}
    named = {"text": dataset.text, "text_pair": dataset.text_pair, "choices": dataset.choices}
    renamed = {name: column for name, column in named.items() if column and column != name}
    beside, by_itself = set[str](), set[str]()  # keys beside those of the run; inputs under their own names

    def read(record, label, where):
        keys = tuple(record)
        if keys not in by_keys:
            if len(by_keys) == _MOST_KEYS:
                by_keys.clear()
            columns = match_columns([*keys], where, inputs, dataset, source=path)
            for name in renamed.keys() & columns.keys():
                if columns[name] == name:
                    by_itself.add(name)
                else:
                    beside.update(keys)
            if doubted := sorted(by_itself & beside):
                raise ValueError(
                    f"{where}: some lines have {doubted[0]!r} beside {renamed[doubted[0]]!r}, which the run "
                    f"reads, others have {doubted[0]!r} alone; give all lines the same keys, null where "
                    "nothing stands."
                )
            by_keys[keys] = columns
        return with_json_id(example_of_row(record, by_keys[keys], path), where)

    with naming_format(path, dataset):
        known = possible_columns(dataset, inputs)
        yield from stream_examples(path, dataset, (), read, with_labels=False, optional=known)


def examples_from_table(
    table, inputs: Collection[tuple[str, ...]], dataset: DatasetConfig | None = None
) -> list[dict]:
    """The examples of a table in memory, by the columns that `examples_from_columns` reads of a file.

    Args:
      table: anything with `column_names`.
      inputs, dataset: as for `examples_from_columns`.

    Raises:
      ValueError: for a table that has the columns of no signature, a row without any input, and as
        `read_rows` does.
    """
    name = "the data"
    header = list(map(str, column_names(table) or ()))
    columns = match_columns(header, name, inputs, dataset or DatasetConfig())
    rows = read_rows(table, name, names_in(columns))
    examples = [example_of_row(row, columns, name) for row in rows]
    for number, example in enumerate(examples, start=1):
        if all(value is None for key, value in example.items() if key != ID_COLUMN):
            empty = " and ".join(map(repr, names_in(columns)))
            raise ValueError(f"row {number} of {name} has no value in {empty}; fix the row or leave it out.")
    return examples


def _require_different(header, path):
    named = list(header)
    while named and not named[-1].strip():  # a delimiter at the end of each line
        named.pop()
    if twice := sorted({name for name in named if named.count(name) > 1}):
        raise ValueError(
            f"{path} has several columns {', '.join(map(repr, twice))[:200]}, and a table of predictions "
            "keeps one of them; give each a name of its own, or name the output_file .jsonl."
        )


def texts_and_pairs(
    path: str | Path, dataset: DatasetConfig | None = None
) -> Iterator[tuple[str, str | None]]:
    """(text, second text or None) of each row of a file with columns, or of each line.

    Columns, and the keys of an object in JSON lines, are those that the dataset names, else `text` and maybe
    `text_pair`. Any other line, an empty one too, is a text, or two with ` ||| ` between them, as in Google's
    extract_features.py.

    Args:
      path: the file.
      dataset: of the run's config, whose files had such columns.

    Raises:
      ValueError: as `examples_from_columns` and `examples_from_lines` do; while it is read, for a row without
        a text.
    """
    if not has_rows(path, dataset):
        lines = lines_of_file(path, dataset or DatasetConfig())
        return map(text_and_pair, lines_of_text(lines, path, dataset))
    examples = examples_from_columns(path, [("text",), ("text", "text_pair")], dataset)

    def rows():
        for number, example in enumerate(examples, start=1):
            text, pair = example.get("text"), example.get("text_pair")
            if not isinstance(text, str) or not isinstance(pair, str | None):
                raise ValueError(f"{path} row {number} has no text under 'text'; leave the row out.")
            yield text, pair

    return rows()


def _read_records(path, dataset, inputs, columns=()):
    return stream_records(
        path, dataset, columns, with_labels=False, optional=possible_columns(dataset, inputs)
    )


def _header(path, dataset, inputs):
    return read_header(path, dataset, possible_columns(dataset, inputs))
