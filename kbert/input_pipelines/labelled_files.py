"""Labelled TSV, CSV and JSONL files -> rows. Standard library only."""

import csv
import gzip
import io
import json
import re
import zlib
from pathlib import Path
from typing import NamedTuple

from kbert.config import DatasetConfig


class Row(NamedTuple):
    """One labelled text, or pair of texts; `label` is None where the file holds none."""

    text: str
    text_pair: str | None
    label: str | None


def read_rows(path: str | Path, dataset: DatasetConfig, with_labels: bool = True) -> list[Row]:
    """Reads the columns that `dataset` names.

    Raises:
      ValueError: naming file, line and the mend, for a missing or empty file, bytes that are not UTF-8,
        a missing column, a row with too few columns, or (where labels are listed) an unlisted label.
    """
    path = Path(path)
    rows = []
    for number, record in _records(path, dataset):
        texts = [
            _cell(record, column, path, number) for column in (dataset.text, dataset.text_pair) if column
        ]
        label = _cell(record, dataset.label, path, number) if with_labels else None
        if label is not None and dataset.labels and label not in dataset.labels:
            raise ValueError(
                f"{path} line {number}: label {label!r} is not in the label list {list(dataset.labels)}."
            )
        rows.append(Row(texts[0], texts[1] if dataset.text_pair else None, label))
    if not rows:
        raise ValueError(f"{path} holds no rows; expected labelled texts, one a line.")
    return rows


def labels_of(rows) -> tuple[str, ...]:
    """The sorted labels of the rows; numbers sort as numbers."""
    labels = {row.label for row in rows}
    if all(re.fullmatch(r"-?[0-9]+", label) for label in labels):
        return tuple(sorted(labels, key=lambda label: (int(label), label)))
    return tuple(sorted(labels))


def _records(path, dataset):
    """Yields (line number, dict of columns)."""
    text = io.StringIO(_read_text(path), newline="")
    file_format = dataset.file_format or _format_of(path)
    if file_format == "jsonl":
        for number, line in enumerate(text, start=1):
            if line.strip():
                yield number, _json_object(line, path, number)
        return
    quoting = {"delimiter": "\t", "quoting": csv.QUOTE_NONE} if file_format == "tsv" else {}
    reader = csv.reader(text, strict=True, **quoting)
    header = list(dataset.column_names) or next(reader, [])
    for column in filter(None, (dataset.text, dataset.text_pair)):
        if column not in header:
            raise ValueError(
                f"{path} has no column {column!r}; its columns are {header}. Name the columns in the config "
                "(dataset.text, dataset.text_pair, dataset.label; dataset.column_names for a file without "
                "a header line)."
            )
    try:
        for cells in reader:
            if not cells:
                continue
            if len(cells) < len(header):
                raise ValueError(
                    f"{path} line {reader.line_num}: {len(cells)} columns where {len(header)} were "
                    f"expected ({', '.join(header)})."
                )
            yield reader.line_num, dict(zip(header, cells, strict=False))
    except csv.Error as error:
        raise ValueError(f"{path} line {reader.line_num}: {error}.") from None


def _read_text(path):
    if not path.is_file():
        raise ValueError(f"labelled file {path} does not exist.")
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"{path} is not a whole gzip file ({error}); make it again.") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path} line {line} is not UTF-8; convert it, for example with iconv.") from None


def _format_of(path):
    name = path.name.removesuffix(".gz")
    for file_format in ("tsv", "csv", "jsonl"):
        if name.endswith("." + file_format):
            return file_format
    raise ValueError(
        f"{path}: cannot tell the format from the name; end it in .tsv, .csv or .jsonl, or set "
        "dataset.file_format."
    )


def _json_object(line, path, number):
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} line {number} is not JSON: {error}.") from None
    if not isinstance(value, dict):
        raise ValueError(f"{path} line {number}: expected an object of columns, received {value!r}.")
    return {name: cell if isinstance(cell, str) else json.dumps(cell) for name, cell in value.items()}


def _cell(record, column, path, number):
    if column not in record:
        raise ValueError(f"{path} line {number} has no column {column!r}; it has {sorted(record)}.")
    return record[column]
