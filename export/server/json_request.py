"""The body of a REST predict request, read as TF Serving reads it: JSON to arrays.

Row form `{"instances": [...]}` has one element per example: a plain value where the signature
has one input, an object otherwise. Column form `{"inputs": ...}` has each tensor as a whole, and
a single one without its name. Strings are UTF-8; `{"b64": "..."}` stands for bytes in any string
input, whatever its name. The error texts are the server's own.
"""

import base64
import binascii
import json

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from ..gate.saved_model_session import RequestError, cpp_dtype_name

_MAX_SHOWN = 256


def parse_body(body: bytes) -> dict:
    """Returns the JSON object of a request body."""
    text = body.decode("utf-8", "surrogateescape").lstrip()
    if not text:
        raise _invalid("JSON Parse error: The document is empty")
    try:
        document, _ = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        raise _invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from error
    if not isinstance(document, dict):
        raise _invalid(f"JSON Value: {_shown(document)} Is not object")
    if not isinstance(document.get("signature_name", ""), str):
        raise _invalid(
            f"JSON Value: {_shown(document)} not formatted correctly. "
            "'signature_name' key must be a string value."
        )
    return document


def is_row_form(document: dict) -> bool:
    """Tells row form from column form; raises where the body has neither or both."""
    if "instances" in document and "inputs" in document:
        raise _invalid(
            f"JSON Value: {_shown(document)} Not formatted correctly expecting only "
            "one of 'inputs' or 'instances' keys to exist "
        )
    if "instances" not in document and "inputs" not in document:
        raise _invalid("Missing 'inputs' or 'instances' key")
    return "instances" in document


def read_inputs(document: dict, signature: meta_graph_pb2.SignatureDef) -> dict[str, np.ndarray]:
    """Turns a parsed body, in either form, into input name -> array."""
    dtypes = {name: tf.as_dtype(info.dtype) for name, info in sorted(signature.inputs.items())}
    if is_row_form(document):
        return _read_rows(document, dtypes)
    return _read_columns(document["inputs"], dtypes)


def _read_rows(document: dict, dtypes: dict[str, tf.DType]) -> dict[str, np.ndarray]:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise _invalid(f"JSON Value: {_shown(document)} Expecting 'instances' to be an list/array")
    if not rows:
        raise _invalid(f"JSON Value: {_shown(document)} No values in 'instances' array")
    if len(dtypes) > 1 and not isinstance(rows[0], dict):
        raise _invalid(
            "instances is a plain list, but expecting list of objects as multiple "
            "input tensors required as per tensorinfo_map"
        )

    named = _is_object(rows[0])
    columns: dict[str, list] = {name: [] for name in dtypes}
    for position, row in enumerate(rows):
        if named != _is_object(row):
            raise _invalid(
                f"Expecting object but got list at item {position} of input list"
                if named
                else f"Expecting value/list but got object at item {position} of input list"
            )
        for name, value in (row if named else {next(iter(dtypes)): row}).items():
            try:
                _add_row(columns, name, value, dtypes)
            except RequestError as error:
                key = f" key: {name}" if named else ""
                raise _invalid(
                    f"Failed to process element: {position}{key} of 'instances' list. "
                    f"Error: {error.status}: {error.message}"
                ) from error
        if named and row.keys() != dtypes.keys():
            raise _invalid(
                f"Failed to process element: {position} of 'instances' list. "
                f"JSON object: {_shown(row)} keys must be equal to: {','.join(dtypes)}"
            )
    return {name: np.stack(arrays) for name, arrays in columns.items()}


def _add_row(columns, name, value, dtypes) -> None:
    if name not in dtypes:
        raise _invalid(f"JSON object: does not have named input: {name}")
    array = _read_tensor(value, dtypes[name])
    first = columns[name][0] if columns[name] else array
    if array.size != first.size:
        raise _invalid(f"Expecting tensor size: {first.size} but got: {array.size}")
    if array.shape != first.shape:
        raise _invalid(f"Expecting shape {_shape_text(first)} but got: {_shape_text(array)}")
    columns[name].append(array)


def _read_columns(value, dtypes: dict[str, tf.DType]) -> dict[str, np.ndarray]:
    if _is_object(value):
        for name in dtypes:
            if name not in value:
                raise _invalid(f"Missing named input: {name} in 'inputs' object.")
        return {name: _read_tensor(value[name], dtype) for name, dtype in dtypes.items()}
    if len(dtypes) > 1:
        raise _invalid(
            "inputs is a plain value/list, but expecting an object as multiple "
            "input tensors required as per tensorinfo_map"
        )
    return {name: _read_tensor(value, dtype) for name, dtype in dtypes.items()}


def _read_tensor(value, dtype: tf.DType) -> np.ndarray:
    shape = _shape_of_first(value)
    flat: list = []
    _collect(value, 0, shape, dtype, flat)
    # np.array would cut trailing NUL bytes off a string that is not an object.
    array = np.empty(len(flat), dtype.as_numpy_dtype)
    array[:] = flat
    return array.reshape(shape)


def _shape_of_first(value) -> list[int]:
    shape = []
    while isinstance(value, list):
        shape.append(len(value))
        value = value[0] if value else None
    return shape


def _collect(value, level: int, shape: list[int], dtype: tf.DType, flat: list) -> None:
    if not isinstance(value, list):
        if level != len(shape):
            raise _invalid(
                f"JSON Value: {_shown(value)} found at incorrect level: {level + 1} "
                f"in the JSON DOM. Expected at level: {len(shape)}"
            )
        flat.append(_read_value(value, dtype))
        return
    if level >= len(shape):
        raise _invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(value) != shape[level]:
        raise _invalid(
            f"Encountered list at unexpected size: {len(value)} at level: {level} "
            f"expected size: {shape[level]}"
        )
    for element in value:
        _collect(element, level + 1, shape, dtype, flat)


def _read_value(value, dtype: tf.DType):
    if dtype == tf.string:
        if isinstance(value, str):
            return _utf8(value)
        if isinstance(value, dict):
            return _read_base64(value)
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
            f"Conversion of JSON Value: {_shown(value)} to type: {cpp_dtype_name(dtype)}",
        )
    raise _invalid(
        f"JSON Value: {_shown(value)} Type: {_json_type(value)} "
        f"is not of expected type: {cpp_dtype_name(dtype)}"
    )


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise _invalid("JSON Parse error: The surrogate pair in string is invalid.") from error


def _read_base64(value: dict) -> bytes:
    if _is_object(value):
        raise _invalid(f"JSON Value: {_shown(value)} not formatted correctly for base64 data")
    try:
        return base64.b64decode(value["b64"], validate=True)
    except (binascii.Error, ValueError) as error:
        raise _invalid("Unable to base64 decode") from error


def _is_object(value) -> bool:
    """True for a JSON object, except `{"b64": "..."}`, which stands for bytes."""
    if not isinstance(value, dict):
        return False
    return not (value.keys() == {"b64"} and isinstance(value["b64"], str))


def _json_type(value) -> str:
    if isinstance(value, bool):
        return str(value)
    names = {dict: "Object", list: "Array", str: "String", int: "Number", float: "Number"}
    return names.get(type(value), "Null")


def _shown(value) -> str:
    return json.dumps(value, ensure_ascii=False)[:_MAX_SHOWN]


def _shape_text(array: np.ndarray) -> str:
    return "[" + ",".join(map(str, array.shape)) + "]"


def _invalid(message: str) -> RequestError:
    return RequestError("INVALID_ARGUMENT", message)
