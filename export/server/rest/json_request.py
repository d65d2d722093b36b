"""The body of a REST predict request, read as TF Serving reads it: JSON to arrays.

Row form `{"instances": [...]}` has one element per example: a plain value where the signature
has one input, an object otherwise. Column form `{"inputs": ...}` has each tensor as a whole, and
a single one without its name. Strings are UTF-8; `{"b64": "..."}` stands for bytes in any string
input, whatever its name. The error texts are the server's own.
"""

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from ...gate.saved_model_session import RequestError, cpp_dtype_name
from .json_document import invalid, is_bytes, json_type, parse_body, read_bytes, shown

__all__ = ["is_row_form", "parse_body", "read_inputs"]


def is_row_form(document: dict) -> bool:
    """Tells row form from column form; raises where the body has neither or both."""
    if "instances" in document and "inputs" in document:
        raise invalid(
            f"JSON Value: {shown(document)} Not formatted correctly expecting only "
            "one of 'inputs' or 'instances' keys to exist "
        )
    if "instances" not in document and "inputs" not in document:
        raise invalid("Missing 'inputs' or 'instances' key")
    return "instances" in document


def read_inputs(
    document: dict, signature: meta_graph_pb2.SignatureDef, max_elements: int
) -> dict[str, np.ndarray]:
    """Turns a parsed body, in either form, into input name -> array.

    Args:
        document: of `parse_body`.
        signature: names and dtypes of the inputs.
        max_elements: how many values one tensor may have.

    Raises:
        RequestError: `INVALID_ARGUMENT`, or `UNIMPLEMENTED` for a dtype that JSON cannot carry.
    """
    dtypes = {name: tf.as_dtype(info.dtype) for name, info in sorted(signature.inputs.items())}
    if is_row_form(document):
        return _read_rows(document, dtypes, max_elements)
    return _read_columns(document["inputs"], dtypes, max_elements)


def _read_rows(document: dict, dtypes: dict[str, tf.DType], max_elements: int) -> dict[str, np.ndarray]:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid(f"JSON Value: {shown(document)} Expecting 'instances' to be an list/array")
    if not rows:
        raise invalid(f"JSON Value: {shown(document)} No values in 'instances' array")
    named = _is_object(rows[0])
    if len(dtypes) > 1 and not named:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple "
            "input tensors required as per tensorinfo_map"
        )
    columns = {name: _Values(dtype, max_elements) for name, dtype in dtypes.items()}
    for position, row in enumerate(rows):
        if named != _is_object(row):
            raise invalid(
                f"Expecting object but got list at item {position} of input list"
                if named
                else f"Expecting value/list but got object at item {position} of input list"
            )
        _add_row(columns, row, position, named)
    return {name: values.stacked(len(rows)) for name, values in columns.items()}


def _add_row(columns: dict[str, "_Values"], row, position: int, named: bool) -> None:
    for name, value in (row if named else {next(iter(columns)): row}).items():
        try:
            if name not in columns:
                raise invalid(f"JSON object: does not have named input: {name}")
            columns[name].add_row(value)
        except RequestError as error:
            key = f" key: {name}" if named else ""
            raise invalid(
                f"Failed to process element: {position}{key} of 'instances' list. "
                f"Error: {error.status}: {error.message}"
            ) from error
    if named and row.keys() != columns.keys():
        raise invalid(
            f"Failed to process element: {position} of 'instances' list. "
            f"JSON object: {shown(row)} keys must be equal to: {','.join(columns)}"
        )


def _read_columns(value, dtypes: dict[str, tf.DType], max_elements: int) -> dict[str, np.ndarray]:
    if _is_object(value):
        for name in dtypes:
            if name not in value:
                raise invalid(f"Missing named input: {name} in 'inputs' object.")
        values = value
    elif len(dtypes) > 1:
        raise invalid(
            "inputs is a plain value/list, but expecting an object as multiple "
            "input tensors required as per tensorinfo_map"
        )
    else:
        values = dict.fromkeys(dtypes, value)
    arrays = {}
    for name, dtype in dtypes.items():
        column = _Values(dtype, max_elements)
        column.add_row(values[name])
        arrays[name] = column.stacked(None)
    return arrays


class _Values:
    """The values of one tensor, row after row: all rows have the shape of the first."""

    def __init__(self, dtype: tf.DType, max_elements: int):
        self._dtype = dtype
        self._max_elements = max_elements
        self._flat: list = []
        self._shape: list[int] | None = None
        self._row_size = 0

    def add_row(self, value) -> None:
        shape, before = _shape_of_first(value), len(self._flat)
        self._collect(value, 0, shape)
        size = len(self._flat) - before
        if self._shape is None:
            self._shape, self._row_size = shape, size
        elif size != self._row_size:
            raise invalid(f"Expecting tensor size: {self._row_size} but got: {size}")
        elif shape != self._shape:
            raise invalid(f"Expecting shape {_shape_text(self._shape)} but got: {_shape_text(shape)}")

    def stacked(self, num_rows: int | None) -> np.ndarray:
        """All rows in one array, with the rows as its first dimension; without `num_rows` the one row."""
        # np.array would cut trailing NUL bytes off a string that is not an object.
        array = np.empty(len(self._flat), self._dtype.as_numpy_dtype)
        try:
            with np.errstate(over="ignore"):  # a double beyond float32 is infinite, as in the real server
                array[:] = self._flat
        except OverflowError as error:
            raise invalid(f"A number is out of the range of {cpp_dtype_name(self._dtype)}") from error
        first = [] if num_rows is None else [num_rows]
        return array.reshape(first + (self._shape or []))

    def _collect(self, value, level: int, shape: list[int]) -> None:
        if not isinstance(value, list):
            if level != len(shape):
                raise invalid(
                    f"JSON Value: {shown(value)} found at incorrect level: {level + 1} "
                    f"in the JSON DOM. Expected at level: {len(shape)}"
                )
            if len(self._flat) >= self._max_elements:
                raise invalid(f"More than {self._max_elements} values in a tensor (--max_elements)")
            self._flat.append(_read_value(value, self._dtype))
            return
        if level >= len(shape):
            raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
        if len(value) != shape[level]:
            raise invalid(
                f"Encountered list at unexpected size: {len(value)} at level: {level} "
                f"expected size: {shape[level]}"
            )
        for element in value:
            self._collect(element, level + 1, shape)


def _shape_of_first(value) -> list[int]:
    shape: list[int] = []
    while isinstance(value, list):
        if len(shape) == np.iinfo(np.uint8).max - 1:  # TensorShape::MaxDimensions of TensorFlow
            raise invalid(f"Encountered list at unexpected level: {len(shape)}")
        shape.append(len(value))
        value = value[0] if value else None
    return shape


def _read_value(value, dtype: tf.DType):
    if dtype == tf.string:
        if isinstance(value, str | dict):
            return read_bytes(value)
    elif dtype == tf.bool:
        if isinstance(value, bool):
            return value
    elif dtype in (tf.float32, tf.float64):
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
    elif dtype.is_integer:
        fits = isinstance(value, int) and not isinstance(value, bool)
        if fits and dtype.min <= value <= dtype.max:
            return value
    else:
        raise RequestError(
            "UNIMPLEMENTED",
            f"Conversion of JSON Value: {shown(value)} to type: {cpp_dtype_name(dtype)}",
        )
    raise invalid(
        f"JSON Value: {shown(value)} Type: {json_type(value)} "
        f"is not of expected type: {cpp_dtype_name(dtype)}"
    )


def _is_object(value) -> bool:
    return isinstance(value, dict) and not is_bytes(value)


def _shape_text(shape: list[int]) -> str:
    return "[" + ",".join(map(str, shape)) + "]"
