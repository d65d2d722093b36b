"""The rows of a parquet or Arrow file, a few hundred in memory at a time. Only this file reads pyarrow."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from kbert.extras import require
from kbert.files.file_format import TABLES, require_table_format
from kbert.files.json_file import parse_json
from kbert.files.json_values import json_value, shown, shown_name
from kbert.input_pipelines.python_values import plain_value

_ROWS_AT_ONCE = 512
# Of a parquet file: without both of them a whole row group is read at once.
_READ_PIECEWISE = {"buffer_size": 1 << 20, "pre_buffer": False}
_NAMES_KEY = b"huggingface"  # in the metadata of a schema
_NO_CLASS = -1  # what `datasets` writes where a row has no label, as in GLUE's test files


def column_names(file: Path, file_format: str) -> list[str]:
    """The names of all columns of a file, in their order.

    Raises:
      ValueError: when the file is damaged, or pyarrow is not installed.
    """
    with _opened(file, file_format) as table:
        return list(_schema(table).names)


def schema_classes(file: Path, file_format: str) -> dict[str, tuple[str, ...]]:
    """As `class_names`, of a file. Raises as `column_names` does."""
    with _opened(file, file_format) as table:
        return class_names(_schema(table).metadata, file)


def count_rows(file: Path, file_format: str) -> int:
    """The number of rows of a file. Raises as `column_names` does."""
    with _opened(file, file_format) as table:
        if file_format == "parquet":
            return table.metadata.num_rows
        return sum(batch.num_rows for batch in _arrow_batches(table))


def read_rows(file: Path, file_format: str, columns: Sequence[str]) -> Iterator[tuple[str, dict]]:
    """Yields (file and row from 1, columns by name) row by row, as plain Python values.

    Integers with names of classes in the schema become these names. Dates and times become text in the form
    of ISO 8601, in UTC where they have a time zone. Decimals are as `exact_number` has them, bytes are texts.

    Args:
      file: the file.
      file_format: one of `TABLES`.
      columns: those to read; each must be there.

    Raises:
      ValueError: naming the file, when it is damaged, a column holds other things than texts, numbers, true
        and false, or lists and objects of them, or dates and times, or two columns have its name, or pyarrow
        is not installed; naming the row too for text that is not UTF-8 and for a class without a name.
    """
    with _opened(file, file_format) as table:
        schema = _schema(table)
        for column in columns:
            _require_plain(schema, column, file)
        names = class_names(schema.metadata, file)
        number = 0
        for batch in _batches(table, file_format, list(columns)):
            cells = [_values(batch.column(name), name, names.get(name), file, number) for name in columns]
            for row in range(batch.num_rows):
                record = {name: values[row] for name, values in zip(columns, cells, strict=True)}
                yield f"{file} row {number + row + 1}", record
            number += batch.num_rows
        if file_format == "parquet" and number != table.metadata.num_rows:  # pyarrow stops without a word
            raise OSError(f"{number} of its {table.metadata.num_rows} rows can be read")


def readable_columns(file: Path, file_format: str) -> list[str]:
    """The names, each of one column, whose values `read_rows` reads. Raises as `column_names` does."""
    with _opened(file, file_format) as table:
        schema = _schema(table)
        return [
            field.name for field in schema if _is_readable(field.type) and schema.names.count(field.name) == 1
        ]


@contextlib.contextmanager
def _opened(file, file_format):
    """A `ParquetFile`, or a reader of Arrow's stream or file format; damage as one sentence."""
    require("tables", f"{file} is a table, which")
    import pyarrow as pa

    try:
        with contextlib.ExitStack() as stack:
            if file_format == "parquet":
                from pyarrow import parquet

                yield stack.enter_context(parquet.ParquetFile(file, **_READ_PIECEWISE))
                return
            # Mapped: a batch may be the whole file, and only the rows that are asked for are then read.
            source = stack.enter_context(pa.memory_map(str(file)))
            # The stream format of `datasets` does not begin so.
            is_file = source.read(len(TABLES["arrow"])) == TABLES["arrow"]
            source.seek(0)
            yield stack.enter_context((pa.ipc.open_file if is_file else pa.ipc.open_stream)(source))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if getattr(error, "errno", None) is not None:  # the disk, not the file's contents
            raise
        require_table_format(file, file_format)
        why = shown_name(str(error).splitlines()[0][:200]) if str(error) else "it ends too early"
        raise ValueError(f"{file} is not a whole {file_format} file ({why}); make or get it again.") from None


def _schema(table):
    return table.schema_arrow if hasattr(table, "schema_arrow") else table.schema


def _batches(table, file_format, columns):
    """Record batches with the columns, of at most `_ROWS_AT_ONCE` rows."""
    if file_format == "parquet":
        yield from table.iter_batches(_ROWS_AT_ONCE, columns=columns, use_threads=False)
        return
    for batch in _arrow_batches(table):
        for start in range(0, batch.num_rows, _ROWS_AT_ONCE):
            yield batch.slice(start, _ROWS_AT_ONCE)


def _arrow_batches(table):
    if hasattr(table, "num_record_batches"):  # the file format has a table of contents, a stream has none
        return map(table.get_batch, range(table.num_record_batches))
    return iter(table)


def _values(column, name, classes, file, before):
    """The values of a column of a batch, whose first row comes after `before` rows."""
    _validate(column)
    if _is_time(column.type):
        return _iso_texts(column)
    if _is_bytes(column.type):
        column = column.cast("string", safe=False)  # what is not UTF-8 is found with its row
    try:
        values = column.to_pylist()
    except UnicodeDecodeError:
        row = before + _first_not_utf8(column) + 1
        raise ValueError(
            f"{file} row {row} has text in {name!r} that is not UTF-8; write it again."
        ) from None
    if "decimal" in str(column.type):
        values = plain_value(values)
    if classes:
        values = [
            named_class(value, classes, f"{file} row {row}, column {name!r}")
            for row, value in enumerate(values, start=before + 1)
        ]
    return values


def _iso_texts(column):
    """Dates and times as text, without a fraction of a second that is 0. An instant is told in UTC."""
    import pyarrow as pa

    zone = "Z" if getattr(column.type, "tz", None) else ""
    if zone:
        column = column.cast(pa.timestamp(column.type.unit))
    return [
        value and re.sub(r"\.0+$", "", value.replace(" ", "T")) + zone
        for value in column.cast(pa.string()).to_pylist()
    ]


def _validate(column):
    """Raises ArrowInvalid for a damaged column, whose values could lie anywhere in memory: Arrow's formats
    have no checksums, and reading such a column ends the process."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        if "UTF8" not in str(error):  # that is found again, with its row
            raise


def _first_not_utf8(column):
    for row, value in enumerate(column):
        try:
            value.as_py()
        except UnicodeDecodeError:
            return row
    return 0


def _require_plain(schema, column, file):
    if (number := schema.names.count(column)) > 1:
        raise ValueError(f"{file} has {number} columns {column!r}; give each a different name.")
    kind = schema.field(column).type
    if not (_is_readable(kind) or _is_bytes(kind)):
        raise ValueError(
            f"{file}: the column {column!r} holds {kind}; expected texts, numbers, dates, or "
            "lists of the first two. Turn it into texts, or name another column in the config."
        )


def _is_readable(kind) -> bool:
    return _is_time(kind) or _is_plain(kind)  # times become texts, but not inside of lists


def _is_time(kind) -> bool:
    from pyarrow import types

    return types.is_date(kind) or types.is_time(kind) or types.is_timestamp(kind)


def _is_bytes(kind) -> bool:
    """Whether the values are bytes: texts of a program that does not mark them as such, as Impala and old
    Sparks. They are read where they are asked for: pictures are bytes, too."""
    from pyarrow import types

    return types.is_binary(kind) or types.is_large_binary(kind)


def _is_plain(kind) -> bool:
    """Whether the values are those that JSON has as well, or decimals."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    lists = ("list", "large_list", "fixed_size_list", "list_view", "large_list_view")
    if any(getattr(types, f"is_{name}")(kind) for name in lists):
        return _is_plain(kind.value_type)
    if types.is_struct(kind):
        return all(_is_plain(kind.field(index).type) for index in range(kind.num_fields))
    texts = types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)
    numbers = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    return texts or numbers or types.is_boolean(kind) or types.is_null(kind)


# ------------------------------------------------------------------------------ names of classes


def class_names(metadata, file) -> dict[str, tuple[str, ...]]:
    """The columns of integers that stand for classes, and the names of these.

    Args:
      metadata: of the schema: bytes -> bytes, or None. Under `huggingface` it holds the JSON of the features;
        those of the type `ClassLabel` have `names`, a column of lists has them in its `feature`.
      file: for messages.

    Returns:
      Column -> the names in their order: class 0 has the first.

    Raises:
      ValueError: naming the file, when what stands under `huggingface` cannot be read.

    Source: `Features.arrow_schema` in Hugging Face's `datasets`, src/datasets/features/features.py.
    """
    if _NAMES_KEY not in (metadata or {}):
        return {}
    where = f"{file}: the features in its schema"
    value = parse_json(metadata[_NAMES_KEY].decode("utf-8", "replace"), where)
    info = json_value(value if isinstance(value, dict) else {}, "info", dict, where, {})
    features = json_value(info, "features", dict, where, {})
    return feature_classes(features)


def feature_classes(features: Mapping) -> dict[str, tuple[str, ...]]:
    """As `class_names`, of the features themselves: those of `datasets`, or as their JSON has them."""
    classes = {column: _classes(feature) for column, feature in features.items()}
    return {column: names for column, names in classes.items() if names}


def _classes(feature):
    """The names of a feature, or of what its lists hold; None where there are none."""
    if isinstance(feature, list) and len(feature) == 1:  # a list may be written so
        return _classes(feature[0])
    read = feature.get if isinstance(feature, dict) else lambda key: getattr(feature, key, None)
    if read("_type") == "ClassLabel":
        names = read("names")
        return tuple(map(str, names)) if isinstance(names, list) else None
    return None if feature is None else _classes(read("feature"))


def named_class(value, names: tuple[str, ...], where: str):
    """The name of a class, or of each in a list; None where there is no class.

    Args:
      value: the number of a class, also as a float; or its name, which somebody may have put there.
      names: of the classes.
      where: for messages.

    Raises:
      ValueError: naming `where`, for any other value.
    """
    if isinstance(value, list):
        return [named_class(item, names, where) for item in value]
    if value is None or value == _NO_CLASS or value != value:
        return None
    if isinstance(value, str) and value in names:
        return value
    if isinstance(value, int | float) and value in range(len(names)):
        return names[int(value)]
    raise ValueError(
        f"{where} has the class {shown(value)}, but the schema names {len(names)}, from 0 on: "
        f"{', '.join(names)[:200]}."
    )
