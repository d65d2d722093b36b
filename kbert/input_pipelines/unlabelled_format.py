"""The format in which a file is read that is to be answered: its own, or that of the run's files."""

import contextlib
import dataclasses
from pathlib import Path

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.files.file_format import DELIMITED, FORMATS, format_by_name
from kbert.files.text_file import read_lines
from kbert.input_pipelines.data_files import reading_dataset
from kbert.input_pipelines.header_rows import names_columns
from kbert.input_pipelines.label_names import as_number
from kbert.input_pipelines.labelled_files import read_first_row
from kbert.input_pipelines.tables.table_paths import find_format, source_files


def with_own_format(path, dataset) -> DatasetConfig:
    """The dataset, whose format is that of the file: None where the name of the file says it. Of a run whose
    files have no header, without the names of its columns where this file has one.

    Files with delimiters of a run that says theirs, or reads CSV, are read with or without quotes as in the
    run: a .tsv of a run that says so was written with quotes.
    """
    dataset = reading_dataset(path, dataset or DatasetConfig())
    if dataset.file_format is not None:
        named = named_format(path)
        if not named and _holds_lines(path, dataset):
            dataset = dataclasses.replace(dataset, file_format=None)
        elif not named:
            warn_once(_why_so(path, dataset))
        elif named != dataset.file_format and {named, dataset.file_format} <= {*DELIMITED}:
            if dataset.file_format == "csv":
                dataset = dataclasses.replace(
                    dataset, delimiter=dataset.delimiter or FORMATS[named].delimiter
                )
            elif not dataset.delimiter:
                dataset = dataclasses.replace(dataset, file_format=None)
    return dataclasses.replace(dataset, column_names=()) if _has_header(path, dataset) else dataset


def _has_header(path, dataset):
    """Whether the first row of a file of a run with `column_names` is a header, which is said."""
    if not dataset.column_names or not Path(path).is_file():  # a pipe is read once
        return False
    is_delimited = find_format(path, dataset.file_format) in DELIMITED
    cells = read_first_row(path, dataset) if is_delimited else []
    if not names_columns(cells, dataset):
        return False
    warn_once(
        f"{path}: its first row names its columns ({', '.join(map(repr, cells))[:200]}), and it is read so; "
        "the files of the run have no such row (dataset.column_names)."
    )
    return True


def _holds_lines(path, dataset):
    """Whether a file whose name says no format has texts in its lines, not the columns of the run, which is
    said: its first line is no header, lacks the delimiter, and another one that cuts it leaves no label."""
    names = dataset.column_names
    if dataset.file_format not in DELIMITED or len(names) < 2 or not Path(path).is_file():
        return False
    delimiter = dataset.delimiter or FORMATS[dataset.file_format].delimiter
    first = next((line for line in lines_of_file(path, dataset) if line.strip()), "")
    cells = read_first_row(path, dataset) if first and delimiter not in first else []
    if not cells or names_columns(cells, dataset):
        return False
    if len(cells) == len(names):
        label = dict(zip(names, cells, strict=True)).get(dataset.label)
        is_label = label in dataset.labels if dataset.labels else as_number(label or "") is not None
        if label is None or is_label:
            return False
    warn_once(
        f"{path}: each line is a text, as the first is without {delimiter!r}, which separates the columns of "
        f"the run's files ({', '.join(names)})."
    )
    return True


def named_format(path):
    """The format that the name of a file says, or that of the first of several."""
    return format_by_name(path) or format_by_name(source_files(path)[0])


def _why_so(path, dataset) -> str:
    return (
        f"{path} is read as {dataset.file_format}, the dataset.file_format of the run, for its name says no "
        "format; texts alone go into a .jsonl file, or into kbert predict by standard input"
    )


@contextlib.contextmanager
def naming_format(path, dataset):
    """Adds to an error why the file is read so, where it `with_own_format` has the format of the run."""
    try:
        yield
    except ValueError as error:
        if dataset.file_format is None or named_format(path):
            raise
        raise ValueError(f"{error} {_why_so(path, dataset)}.") from None


def lines_of_file(path, dataset):
    return (line.removesuffix("\r") for line in read_lines(path, dataset.encoding))
