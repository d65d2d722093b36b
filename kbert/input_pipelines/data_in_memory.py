"""Data that a caller holds in memory -> plain Python: lists of values, and rows of named columns.

A table is a DataFrame of pandas or polars, a table of pyarrow, a `datasets.Dataset`, NumPy's records or a
dict of columns. Each is known by the methods of its objects, so none of these packages is imported here.
"""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kbert.files.compression import name_when_unpacked
from kbert.files.file_format import ENDINGS
from kbert.input_pipelines.python_values import plain_value, without_tensor
from kbert.input_pipelines.tables.table_rows import class_names, feature_classes, named_class

_TO_LIST = ("to_pylist", "to_list", "tolist")  # Arrow's; Series of pandas and polars; NumPy's
_MISSING = ("NAType", "NaTType")  # of pandas, which compare with nothing
_ENDINGS = (".txt", ".xlsx", ".xls", ".ods", ".tfrecord", ".npz", *ENDINGS)
_INFINITE = -1  # tf.data.INFINITE_CARDINALITY
_SHOWN = 300  # characters of a list of columns in an error


def plain_values(values) -> list | None:
    """The values of a list, an array, a Series, a string tensor, a generator; None for what has no order.

    Texts of tensors are decoded; missing values stay as they are.

    Raises:
      ValueError: for a Dataset of TensorFlow without an end.
    """
    if not _is_column(values):
        return None
    values = without_tensor(values)
    to_list = next(filter(None, (getattr(values, name, None) for name in _TO_LIST)), None)
    try:
        if hasattr(values, "cardinality") and values.cardinality() == _INFINITE:
            raise ValueError(
                "received a tf.data.Dataset without an end, as repeat() makes it; leave repeat() out, or "
                "give a part of it: take(100)."
            )
        return [plain_value(value) for value in (to_list() if to_list else values)]
    except TypeError:  # such as a tensor of a graph, which is Iterable by its class alone
        return None


def text_alone(value):
    """A text, or that of a string tensor without an axis, as Python's own; any other value as it is."""
    is_tensor = getattr(value, "shape", None) == () and hasattr(value, "numpy")
    return plain_value(value) if is_tensor or isinstance(value, str) else value


def is_missing(value) -> bool:
    """Whether a cell has no value: None, NaN, and pandas' own."""
    return value is None or type(value).__name__ in _MISSING or (isinstance(value, float) and value != value)


def column_names(data) -> list | None:
    """The names of the columns of a table; None for anything else.

    A dict is a table if all of its values are columns: a dict with a text in it is one example.

    Raises:
      ValueError: for a dict of tables, as a `datasets.DatasetDict` of splits is.
    """
    if isinstance(data, Mapping):
        if data and all(map(_is_table, data.values())):
            names = ", ".join(map(repr, data))
            raise ValueError(
                f"received the tables {names:.{_SHOWN}} ({type(data).__name__}); give one of them, such as "
                f"data[{next(iter(data))!r}]."
            )
        return list(data) if data and all(map(_is_column, data.values())) else None
    if isinstance(data, str | Sequence):
        return None
    for names in (
        "column_names",
        "columns",
    ):  # the first of pyarrow and `datasets`: their `columns` are others
        if hasattr(type(data), names):
            return _names(getattr(data, names))
    return _names(getattr(getattr(data, "dtype", None), "names", None))


def describe_columns(data) -> str:
    """A table for a message: its type, and the names of its columns."""
    names = ", ".join(map(repr, column_names(data) or ())) or "none"
    return f"{type(data).__name__} with the columns {names:.{_SHOWN}}"


def shown(value) -> str:
    """A value for a message, on one line: its type and how it begins."""
    return type(value).__name__ + ("" if value is None else f" ({' '.join(repr(value).split()):.60})")


def require_no_path(text):
    """Raises ValueError for the path of a file of data where a text is expected."""
    if isinstance(text, str) and name_when_unpacked(text).endswith(_ENDINGS) and os.path.isfile(text):
        raise ValueError(
            f"received {shown(text)}, which is a file; give its texts, or ask `kbert predict` or `kbert "
            f"features` with --input_file={text}."
        )


def squad_form(data) -> list[dict]:
    """The one object of a file in SQuAD's form, for what `json.load` makes of it, or a part: its list of
    articles, or an article. An empty list for other data."""
    articles = data.get("data", [data]) if isinstance(data, Mapping) else data
    are_objects = isinstance(articles, list) and all(isinstance(article, Mapping) for article in articles)
    return [{"data": articles}] if are_objects and any(map(_holds_questions, articles)) else []


def _holds_questions(article):
    paragraphs = article.get("paragraphs")
    return isinstance(paragraphs, list) and any(
        isinstance(paragraph, Mapping) and {"context", "qas"} <= paragraph.keys() for paragraph in paragraphs
    )


def is_data(data) -> bool:
    """Whether a source is data in memory, for `read_rows` to judge: neither None nor a path."""
    return data is not None and not isinstance(data, str) and not hasattr(data, "__fspath__")


def read_rows(data, name: str, columns: Collection[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yields the rows of a table, or of a list of dicts, as plain Python values; None where one is missing.

    Integers with names of classes, as `datasets` has them, become these names.

    Args:
      data: a table, see `column_names`; or dicts of one row each.
      name: what messages call it, such as "the training data".
      columns: those of a table that are read; by default all.

    Raises:
      ValueError: for anything else, columns that are no lists or not equally long, and a name of two columns.
    """
    names = column_names(data)
    names = list(data) if isinstance(data, Mapping) else names
    if names:
        read = [column for column in names if columns is None or str(column) in columns]
        yield from _rows_of_table(data, read, name)
        return
    rows = None if names is not None else plain_values(data)
    if rows is None:
        raise ValueError(
            f"{name} is {shown(data)}; expected a DataFrame, a dict of columns such as {{'text': [...], "
            "'label': [...]}, or a list of dicts, one for each row."
        )
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"row {number} of {name} is {shown(row)}; expected a dict of its columns, such as {{'text': "
                "..., 'label': ...}."
            )
        yield {str(column): _cell(value) for column, value in row.items()}


def _rows_of_table(data, names, name):
    written = list(map(str, names))
    twice = sorted({column for column in written if written.count(column) > 1})
    if twice:
        raise ValueError(f"{name} has several columns {', '.join(map(repr, twice))}; give each its own name.")
    columns = {str(column): _values(data, column, name) for column in names}
    lengths = {column: len(values) for column, values in columns.items()}
    if isinstance(data, Mapping):  # the others, too: nothing but the caller says that they belong together
        lengths |= {
            str(column): len(values)
            for column, values in data.items()
            if hasattr(values, "__len__") and getattr(values, "ndim", None) != 0  # no array of one number
        }
    if len(set(lengths.values())) > 1:
        sizes = ", ".join(f"{length} {column}" for column, length in lengths.items())
        raise ValueError(
            f"the columns of {name} have different lengths ({sizes}); give each of them one entry per "
            "example."
        )
    for column, classes in column_classes(data, name).items():
        if column in columns:
            columns[column] = [
                named_class(value, classes, f"row {row} of {name}, column {column!r}")
                for row, value in enumerate(columns[column], start=1)
            ]
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _values(data, column, name):
    try:
        values = plain_values(data[column])
    except (TypeError, KeyError) as error:
        is_lazy = hasattr(data, "collect")  # a frame of polars that is still to be computed
        mend = "give what its .collect() returns" if is_lazy else shown(error)
        raise ValueError(f"the column {column!r} of {name} cannot be read: {mend}.") from None
    if values is None:
        raise ValueError(
            f"the column {column!r} of {name} is {shown(data[column])}; expected a list, one entry for "
            "each example."
        )
    return [_cell(value) for value in values]


def _cell(value):
    value = plain_value(value)
    if isinstance(value, set | frozenset):  # in an order of its own in each process
        value = sorted(map(plain_value, value), key=repr)
    return None if is_missing(value) else value


def _is_column(value) -> bool:
    """Whether a value is a collection in an order: no text, no dict, no table."""
    if isinstance(value, str | bytes | bytearray | Mapping | set | frozenset) or not isinstance(
        value, Iterable
    ):
        return False
    return getattr(value, "shape", None) != () and column_names(value) is None


def _is_table(value) -> bool:
    return not isinstance(value, Mapping) and column_names(value) is not None


def _names(names) -> list | None:
    return None if names is None or callable(names) else list(names)


def column_classes(data, name: str) -> dict[str, tuple[str, ...]]:
    """Column of integers -> the names of its classes, of pyarrow's tables and `datasets`."""
    if hasattr(type(data), "column_names") and hasattr(type(data), "schema"):
        return class_names(data.schema.metadata, name)
    features = data.features if hasattr(type(data), "features") else None
    return feature_classes(features) if isinstance(features, Mapping) else {}
