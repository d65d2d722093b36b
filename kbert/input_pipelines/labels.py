"""Labels: the value of a column -> what a person means by it, and the order of a file's labels."""

import math
import re
from collections.abc import Iterable

from kbert.config import DatasetConfig
from kbert.input_pipelines.json_rows import json_type, require_column, why_no_text


def class_label(record: dict, dataset: DatasetConfig, where: str) -> str:
    """The name of one class: a string that is not blank, or an integer, which becomes its decimal digits.

    Raises:
      ValueError: for any other value, and for a class that is not in `dataset.labels` (if that lists any).
    """
    column = dataset.label
    require_column(record, column, where)
    label = record[column]
    if type(label) is int:  # many tools write class numbers like this; the type check excludes True and False
        label = record[column] = str(label)
    if not isinstance(label, str):
        raise ValueError(f"{where} has {_shown(label)} as its label {column!r}, {_WHOSE_LABEL[type(label)]}.")
    if why := why_no_text(record, column):
        raise ValueError(f"{where} {why}; mend the row or leave it out.")
    if not label.strip():
        raise ValueError(f"{where} has no label in column {column!r}; give it one or leave the row out.")
    return listed_label(label, dataset, where)


def number_label(record: dict, dataset: DatasetConfig, where: str) -> float:
    """The number to learn: a JSON number, or a string with a decimal number.

    Raises:
      ValueError: for any other value, and for infinity and NaN.
    """
    column = dataset.label
    require_column(record, column, where)
    value = record[column]
    try:
        number = (
            float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        )
    except (ValueError, OverflowError):
        number = None
    if number is None or not math.isfinite(number):
        raise ValueError(
            f"{where} has {_shown(value)} as its label {column!r}; regression needs a finite number, such "
            "as 2.5: mend the row or leave it out."
        )
    return number


def label_set(record: dict, dataset: DatasetConfig, where: str) -> tuple[str, ...]:
    """The classes of a text, any number of them, in their order and each once.

    The value is a JSON list of strings, or one string that is split at `dataset.label_separator`.

    Raises:
      ValueError: for any other value, and for a class that is not in `dataset.labels` (if that lists any).
    """
    column = dataset.label
    require_column(record, column, where)
    value = record[column]
    if isinstance(value, str):
        if dataset.label_separator is None and value:
            value = [value]
        else:
            value = [name.strip() for name in value.split(dataset.label_separator)] if value else []
    names = (
        [str(name) if type(name) is int else name for name in value] if isinstance(value, list) else [None]
    )
    if not all(isinstance(name, str) and name.strip() for name in names):
        raise ValueError(
            f"{where} has {_shown(value)} as its label {column!r}; multi-label classification expects a list "
            "of strings, or names with dataset.label_separator between them."
        )
    return tuple(dict.fromkeys(listed_label(name, dataset, where) for name in names))


def listed_label(label, dataset: DatasetConfig, where: str):
    """The label, a string. Raises ValueError where the dataset lists labels without it."""
    if dataset.labels and label not in dataset.labels:
        raise ValueError(
            f"{where}: label {repr(label)[:500]} is not among the labels {list(dataset.labels)}, those of "
            "dataset.labels or else of the training file; mend the row, leave it out, or train with the "
            "label."
        )
    return label


# For each type of value that cannot be a class label: what it is, and how to mend the row.
_WHOSE_LABEL = {
    float: "a number, which is a label for regression; classification expects a string or an integer, so "
    "write the name of a class",
    list: "which is for multi-label classification; this task expects one label, a string or an integer",
    bool: "which could be taken for several names of classes; write a string, or 0 and 1",
    dict: "an object; classification expects a string or an integer",
    type(None): "so it has no label; give it one or leave the row out",
}


def _shown(value):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"the {json_type(value)} {str(value)[:80]}"


def sorted_labels(labels: Iterable[str]) -> tuple[str, ...]:
    """Each label once, sorted; numbers sort as numbers.

    Raises:
      ValueError: when two labels differ only in blanks at their ends.
    """
    labels = set(labels)
    _require_no_blank_twins(labels)
    if all(re.fullmatch(r"-?[0-9]+", label) for label in labels):
        return tuple(sorted(labels, key=lambda label: (int(label), label)))
    return tuple(sorted(labels))


def _require_no_blank_twins(labels):
    bare: dict[str, str] = {}
    for label in sorted(labels):
        twin = bare.setdefault(label.strip(), label)
        if twin != label:
            raise ValueError(
                f"the labels {repr(twin)[:500]} and {repr(label)[:500]} differ only in blanks at their ends; "
                "take the blanks out of the file, or list both in dataset.labels."
            )
