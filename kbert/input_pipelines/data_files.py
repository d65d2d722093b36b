"""Data in memory as a file of JSON lines, for what reads files; messages of that file speak of the data."""

import contextlib
import dataclasses
import datetime
import itertools
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from absl import logging

from kbert.config import DatasetConfig
from kbert.files.file_format import format_by_name, kind_by_content, kind_of_rows
from kbert.input_pipelines.data_in_memory import column_classes, is_data, read_rows, squad_form
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.input_pipelines.tables.table_paths import source_files

_TIMES = (datetime.date, datetime.time)  # a datetime is a date
# A file, or data in memory: columns (a DataFrame is taken too), or a row each.
LabelledData = str | PathLike | Mapping | Sequence | None


class DataFile(type(Path())):  # type: ignore[misc]  # PosixPath
    """The path of data in memory, written as JSON lines: a row has its line.

    Attributes:
      classes: column -> the names of its classes, where the data say them.
    """

    classes: Mapping[str, tuple[str, ...]] = {}


def shown_source(path) -> str:
    """What records and pages call a labelled file."""
    return "data in memory" if isinstance(path, DataFile) else str(path)


def require_one_batch(source, number: int, batch_size: int):
    """Raises ValueError when a source has fewer examples than one batch."""
    if number < batch_size:
        raise ValueError(
            f"{source} has {number} examples, fewer than one batch of {batch_size}; give more, or set "
            f"train_batch_size={number} or lower."
        )


def reading_dataset(path, dataset: DatasetConfig) -> DatasetConfig:
    """How a file is read: as its dataset says, but for the form, which data in memory have of their own. So
    have folders, and files whose name and beginning say another kind than `file_format`, such as a table."""
    if isinstance(path, DataFile):
        return dataclasses.replace(dataset, file_format=None, delimiter=None, encoding=None)
    if dataset.file_format and Path(path).is_dir():
        return dataclasses.replace(dataset, file_format=None)
    if dataset.file_format:
        first = Path(path) if Path(path).exists() else source_files(path)[0]
        named = format_by_name(first)
        if named and kind_of_rows(named) != kind_of_rows(dataset.file_format) and first.is_file():
            if kind_of_rows(named) == kind_by_content(first):
                return dataclasses.replace(dataset, file_format=None)
    return dataset


@contextlib.contextmanager
def data_as_files(sources: Mapping[str, Any], advice: str = "") -> Iterator[list]:
    """Each source as a path: data in memory are written to a `DataFile` that is removed afterwards.

    Errors and warnings that name such a file and a line of it name the data and the row instead.

    Args:
      sources: what messages call it, such as "the training data" -> a path, None, or data for `read_rows`.
      advice: the end of the message where data lack a column, for a call that takes settings as arguments.

    Raises:
      ValueError: as `read_rows` does; and whatever is raised inside.
    """
    any_data = any(map(is_data, sources.values()))
    with tempfile.TemporaryDirectory(prefix="kbert_") if any_data else contextlib.nullcontext("") as folder:
        paths, names = list(sources.values()), {}
        for number, (name, source) in enumerate(sources.items()):
            if is_data(source):
                paths[number] = DataFile(folder) / f"{number}.jsonl"
                names[str(paths[number])] = name
                _write(source, paths[number], name)
        are_batches = any(hasattr(source, "unbatch") for source in sources.values())
        with _naming_data(names, advice, are_batches) if names else contextlib.nullcontext():
            yield paths


def _write(data, path, name):
    path.classes = column_classes(data, name)
    with path.open("w", encoding="utf-8") as file:
        for row in squad_form(data) or _with_articles_together(read_rows(data, name)):
            file.write(json.dumps(row, default=_other_value) + "\n")


def _with_articles_together(rows):
    """The rows; those that hold SQuAD's articles, as a table of these has them, become the one object of a
    file."""
    first = next(rows, None)
    if first is None or not {"paragraphs", "data"} & first.keys():
        return rows if first is None else itertools.chain([first], rows)
    every = [first, *rows]
    if not any(map(_articles, every)):
        return every
    return [{"data": [article for row in every for article in _articles(row) or [row]]}]


def _articles(row):
    form = squad_form(row) or squad_form(row.get("data"))
    return form[0]["data"] if form else []


def _other_value(value):
    """What JSON has no type for: as tables in files give it, or an object, which is no text and no label; in
    a column that nobody reads it is nobody's concern."""
    if isinstance(value, _TIMES):
        return value.isoformat()
    kind = "bytes that are not UTF-8" if isinstance(value, bytes) else type(value).__name__
    return {kind: f"{value!r:.60}"}


@contextlib.contextmanager
def _naming_data(names, advice, may_be_batches):
    """Renames files to the data that they hold, in errors and in lines of the log."""

    def renamed(text):
        for path, name in names.items():
            text = re.sub(rf"{re.escape(path)},? line (\d+)", rf"row \1 of {name}", text)
            text = text.replace(path, name)
        # What follows a heading, see `FileProblems`.
        text = re.sub(r"(^  |\(Also |\()line (?=\d)", r"\1row ", text, flags=re.MULTILINE)
        if advice:  # there, settings are arguments by their last names
            text = re.sub(r"\bdataset\.(\w+)(=t(?=rue\b))?", lambda m: m[1] + ("=T" if m[2] else ""), text)
        if may_be_batches:  # of a tf.data.Dataset
            mend = r"\1: batches are no rows; give what .unbatch() makes of them."
            text = re.sub(r"( a JSON list as '[^']*', not a string); [^.]*\.", mend, text)
        return re.sub(r"has (a JSON )?null as", "has None as", text)  # or NaN, which JSON has not

    def rename(record):
        if any(path in record.getMessage() for path in names):
            record.msg, record.args = renamed(record.getMessage()), ()
        return True

    logger = logging.get_absl_logger()
    logger.addFilter(rename)
    try:
        yield
    except MissingColumn as error:
        raise ValueError(f"{renamed(error.what)} {advice}".rstrip()) from None
    except ValueError as error:
        error.args = tuple(renamed(text) if isinstance(text, str) else text for text in error.args)
        raise
    finally:
        logger.removeFilter(rename)
