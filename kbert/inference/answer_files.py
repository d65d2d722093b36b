"""Answers -> a file. Its name says the form: JSON lines, or a table with a column for each value."""

import itertools
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from kbert.files.compression import find_opener
from kbert.files.file_format import DELIMITED, FORMATS, format_by_name
from kbert.files.json_file import json_line
from kbert.files.json_values import is_unicode
from kbert.files.output_path import check_output_file, require_parent_folder
from kbert.files.whole_file import whole_file

LABEL_SEPARATOR = ";"  # where the run's files have none
_OF_ONE = {"probabilities": "probability"}  # what one of a table of numbers is called


def find_format(path: str | Path) -> str:
    """ "jsonl", "csv" or "tsv": what the name says, see `format_by_name`.

    Raises:
      ValueError: when it says something else, or a package for the compression is missing.
    """
    file_format = format_by_name(path)
    if file_format not in ("jsonl", *DELIMITED):
        raise ValueError(
            f"output_file={path}: the ending says the format; end it in .jsonl (JSON lines), "
            ".csv or .tsv (columns), alone or with .gz, .bz2, .xz or .zst behind it."
        )
    return file_format


def check_answer_file(path: str | Path, inputs: Iterable[str | Path], overwrite: bool):
    """Raises an error unless answers may be written to `path`. Call it before any work is done.

    Raises:
      ValueError, FileExistsError: see `find_format`, `check_output_file` and `require_parent_folder`.
    """
    find_format(path)
    check_output_file(path, inputs, overwrite)
    require_parent_folder(path)


def write_answers(
    path: str | Path,
    answered: Iterable[tuple[dict, dict]],
    label_separator: str | None,
    in_quotes: bool = False,
):
    """Writes answers in the form that the name says; the file appears when all are there.

    A line of JSON is the example and its answer. A table has the columns of the examples, then those of the
    answers; one whose name an example has already is called `predicted_NAME`. A number for each label has a
    column for each, `probability_LABEL`. Any other list or object is JSON in its cell.

    Args:
      path: the file, see `find_format`.
      answered: (example, answer) in order, both ready for JSON.
      label_separator: in a table it stands between an answer's `labels`, as `dataset.label_separator` does;
        no label is an empty cell. Labels of which one holds it are JSON; with None all are.
      in_quotes: whether cells of .tsv have the quotation marks of CSV where they need them, as a run reads
        them whose `dataset.file_format` is csv.

    Raises:
      ValueError: as `with_required_cells` does.
    """
    file_format = find_format(path)
    with whole_file(path) as aside, find_opener(path)(aside, "wt", encoding="utf-8", newline="") as file:
        if file_format == "jsonl":
            for example, answer in answered:
                file.write(json_line(example | answer))
            return
        # The columns are known when all answers are there. Until then these wait in a file without a name.
        with tempfile.TemporaryFile("w+", dir=Path(path).absolute().parent, encoding="utf-8") as waiting:
            columns = _keep(answered, waiting, label_separator)
            waiting.seek(0)
            if any(columns):
                _write_table(file, file_format, columns, map(json.loads, waiting), in_quotes)


def with_required_cells(rows: Iterable[dict], path: str | Path) -> Iterator[dict]:
    """The rows; finds what a table cannot hold before they are answered.

    Args:
      rows: the examples, by row.
      path: a table, where the answers go.

    Raises:
      ValueError: naming row and column, for a tab or a line end in a .tsv file, and half a surrogate pair.
    """
    file_format = find_format(path)
    for number, row in enumerate(rows, start=1):
        for name, value in row.items():
            _require_cell(_cell(value), name, number, file_format)
        yield row


def require_labels(labels: Iterable[str], path: str | Path):
    """As `with_required_cells`, of the labels that the answers to any text may name."""
    for label in labels:
        _require_cell(label, "label", "of an answer", find_format(path))


def _keep(answered, waiting, label_separator):
    """Keeps the cells of all rows, a line of JSON each. Returns the columns of examples and of answers."""
    example_columns: dict[str, None] = {}
    answer_columns: dict[str, None] = {}
    for example, answer in answered:
        cells = {name: _cell(value) for name, value in example.items()}
        answers = dict(_answer_cells(answer, label_separator))
        example_columns |= dict.fromkeys(cells)
        answer_columns |= dict.fromkeys(answers)
        waiting.write(json.dumps([cells, answers]) + "\n")
    return example_columns, answer_columns


def _write_table(file, file_format, columns, kept, in_quotes):
    example_columns, answer_columns = columns
    header = [*example_columns, *(_new_name(name, example_columns) for name in answer_columns)]
    rows = ([*map(cells.get, example_columns), *map(answers.get, answer_columns)] for cells, answers in kept)
    for number, row in enumerate(itertools.chain([header], rows)):
        row = ["" if cell is None else cell for cell in row]  # an example may lack an `id` that others have
        for name, cell in zip(header, row, strict=True):
            _require_cell(cell, name, number, file_format)
        cells = map(_quoted, row) if in_quotes or file_format == "csv" else row  # as they are read
        file.write(FORMATS[file_format].delimiter.join(cells) + "\n")


def _quoted(cell):
    """A cell of a .csv file. (The csv module leaves a carriage return alone, which then ends the row.)"""
    return cell if set(cell).isdisjoint(',"\n\r') else '"' + cell.replace('"', '""') + '"'


def _new_name(name, taken):
    while name in taken:
        name = f"predicted_{name}"
    return name


def _answer_cells(answer, label_separator) -> Iterator[tuple[str, str]]:
    """(column, cell) of an answer."""
    for name, value in answer.items():
        if isinstance(value, dict):
            yield from (
                (f"{_OF_ONE.get(name, name)}_{label}", _cell(number)) for label, number in value.items()
            )
        elif name == "labels" and label_separator and _can_be_joined(value, label_separator):
            yield name, label_separator.join(value)
        else:
            yield name, _cell(value)


def _can_be_joined(value, separator):
    return isinstance(value, list) and all(isinstance(text, str) and separator not in text for text in value)


def _cell(value) -> str:
    """A value as text: JSON but for a text, which is as it is, and None, which is an empty cell."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _require_cell(cell, name, number, file_format):
    if file_format == "tsv" and not set(cell).isdisjoint("\t\n\r"):
        raise ValueError(
            f"row {number}, column {name!r}: {cell[:60]!r} has a tab or a line end, which a .tsv file cannot "
            "hold; name the output_file .csv or .jsonl."
        )
    if not is_unicode(cell):
        raise ValueError(
            f"row {number}, column {name!r}: {cell[:60]!r} has half a surrogate pair, which is no UTF-8; "
            "name the output_file .jsonl."
        )
