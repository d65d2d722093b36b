"""The bodies of `:predict`, in TensorFlow Serving's two forms.

Rows, `{"instances": [...]}` -> `{"predictions": [...]}`: one element for each example, a plain value where
the signature has one input or output, an object otherwise. Columns, `{"inputs": ...}` -> `{"outputs": ...}`:
each tensor as a whole, a single one without its name. `{"b64": "..."}` stands for bytes.
Reference: https://www.tensorflow.org/tfx/serving/api_rest
"""

import base64
import binascii
import json
from typing import Annotated, Any

import numpy as np
import tensorflow as tf
from pydantic import Field, model_validator

from .json_body import shown
from .limits import Limits
from .request import invalid
from .request_fields import Object, RequestFields, SignatureName
from .tensors import MAX_RANK, check_size, check_texts

_AT_ONCE = 1 << 14  # numbers: each takes 128 bytes on the way, and no other thread runs
_NUMBERS = {
    tf.bool: (bool,),
    tf.int32: (int,),
    tf.int64: (int,),
    tf.float32: (int, float),
    tf.float64: (int, float),
}


class TensorFields(RequestFields):
    """The body of a `:predict` request. `parameters` are those inputs that are one value for all rows, such
    as `top_k`, and `signature_name`: Vertex AI lets nothing else through beside `instances`."""

    signature_name: SignatureName = ""
    instances: Annotated[Any, Field(description="a list of examples")] = None
    inputs: Annotated[Any, Field(description="all values of an input, or an object of them")] = None
    parameters: Object = {}

    @model_validator(mode="after")
    def _check(self):
        if (self.instances is None) == (self.inputs is None):
            raise ValueError('The body must have either "instances" (rows) or "inputs" (columns).')
        name = self.parameters.pop("signature_name", None)
        if name is not None and (self.signature_name or not isinstance(name, str)):
            raise ValueError("parameters.signature_name: expected one name of a signature, here or above.")
        self.signature_name = self.signature_name or name or ""
        return self

    @property
    def is_rows(self) -> bool:
        return self.instances is not None


def read_inputs(fields: TensorFields, definition, limits: Limits) -> dict[str, np.ndarray]:
    """The inputs of a request: name -> array.

    Args:
      fields: those of the request.
      definition: the `SignatureDef`, for names and dtypes.
      limits: the bounds of the server.

    Raises:
      RequestError: names, shapes or types that are not those of the signature, or beyond the limits.
    """
    parameters = {name: value for name, value in fields.parameters.items() if value is not None}
    for name in parameters:
        if name not in definition.inputs or definition.inputs[name].tensor_shape.dim:
            settings = [each for each, info in definition.inputs.items() if not info.tensor_shape.dim]
            raise invalid(
                f"parameters: {shown(name)} is no setting of the signature; it has {_listed(settings)}."
            )
    names = sorted(set(definition.inputs) - set(parameters))
    columns: Any = fields.inputs
    if fields.is_rows:
        columns = _columns(fields.instances, names)
    elif not _is_object(columns):
        columns = {names[0]: columns} if len(names) == 1 else {}
    else:
        columns = _without_null(columns)
    if set(columns) != set(names):
        raise invalid(f"received inputs {_listed(columns)}; the signature takes {_listed(names)}.")
    return {
        name: tensor_from_json(name, value, tf.as_dtype(definition.inputs[name].dtype), limits)
        for name, value in sorted((columns | parameters).items())
    }


def write_outputs(outputs: dict[str, np.ndarray], is_rows: bool) -> bytes:
    """The body of the answer, in the form of the request.

    Raises:
      RequestError: rows are wanted of outputs that have no rows, or not equally many.
    """
    values = {
        name: _each(array, _in_base64) if name.endswith("_bytes") else listed(array)
        for name, array in outputs.items()
    }
    if not is_rows:
        answer = {"outputs": next(iter(values.values())) if len(values) == 1 else values}
    else:
        if (
            len({array.shape[:1] or None for array in outputs.values()}) != 1
            or outputs[next(iter(outputs))].ndim == 0
        ):
            shapes = ", ".join(f"{name} {list(array.shape)}" for name, array in outputs.items())
            raise invalid(f'The outputs have no rows in common ({shapes}); ask with "inputs" instead.')
        rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
        answer = {"predictions": next(iter(values.values())) if len(values) == 1 else rows}
    # NaN and Infinity without quotes, as TensorFlow Serving writes them.
    return json.dumps(answer, ensure_ascii=False).encode()


def listed(array: np.ndarray) -> list:
    """Values for JSON; a float32 as the shortest decimal that reads back the same: 0.2, not 0.20000000298."""
    if array.dtype == np.float32:
        numbers: np.ndarray = np.empty(array.size, np.float64)
        for start in range(0, array.size, _AT_ONCE):
            some = slice(start, start + _AT_ONCE)
            numbers[some] = array.ravel()[some].astype("U32").astype(np.float64)
        return numbers.reshape(array.shape).tolist()
    if array.dtype == object:
        return _each(array, lambda value: value.decode("utf-8", "replace"))
    return array.tolist()


def _in_base64(value: bytes) -> dict[str, str]:
    return {"b64": base64.b64encode(value).decode()}


def _each(array, written) -> list:
    return np.array([written(value) for value in array.ravel()], object).reshape(array.shape).tolist()


def _columns(rows, names: list[str]) -> dict[str, list]:
    if not isinstance(rows, list) or not rows:
        raise invalid('"instances" must be a list of one example or more.')
    if len(names) == 1 and not any(map(_is_object, rows)):
        return {names[0]: rows}
    rows = [_without_null(row) if _is_object(row) else row for row in rows]
    for index, row in enumerate(rows):
        if not _is_object(row) or set(row) != set(names):
            received = _listed(row) if _is_object(row) else "a plain value"
            raise invalid(f"instances[{index}] has {received}; the signature takes {_listed(names)}.")
    return {name: [row[name] for row in rows] for name in names}


def tensor_from_json(name: str, value, dtype: tf.DType, limits: Limits) -> np.ndarray:
    """Nested lists -> array, level by level: no recursion, and nothing larger than what came."""
    shape: list[int] = []
    flat = [value]
    while flat and isinstance(flat[0], list):
        sizes = {len(each) if isinstance(each, list) else None for each in flat}
        if len(sizes) > 1:
            raise invalid(f"{name}: lists of different lengths; all rows must have the same shape.")
        shape.append(len(flat[0]))
        if len(shape) > MAX_RANK:
            raise invalid(f"{name}: more than {MAX_RANK} lists inside each other.")
        flat = [each for inner in flat for each in inner]
        check_size(name, len(flat), dtype, limits)
    if dtype == tf.string:
        flat = [text_bytes(name, each) for each in flat]
        check_texts(name, flat, limits)
    else:
        kinds = _NUMBERS.get(dtype, ())
        if wrong := [each for each in flat if type(each) not in kinds]:
            raise invalid(f"{name}: {json.dumps(wrong[0])[:60]} is not of type {dtype.name}.")
    try:
        with np.errstate(over="ignore"):  # a double beyond float32 becomes infinite
            array = np.array(flat, dtype.as_numpy_dtype)
    except OverflowError:
        raise invalid(f"{name}: a number is out of the range of {dtype.name}.") from None
    return array.reshape(shape)


def text_bytes(name: str, value) -> bytes:
    """A text as UTF-8, or the bytes of `{"b64": "..."}`; `RequestError` for anything else."""
    try:
        if isinstance(value, str):
            return value.encode()
        if isinstance(value, dict) and set(value) == {"b64"} and isinstance(value["b64"], str):
            return base64.b64decode(value["b64"], validate=True)
    except UnicodeEncodeError:
        raise invalid(f"{name}: a text with half of a surrogate pair; expected UTF-8.") from None
    except (binascii.Error, ValueError):
        raise invalid(f"{name}: no base64 in b64.") from None
    raise invalid(f"{name}: {json.dumps(value)[:60]} is no text.")


def _without_null(values: dict) -> dict:
    return {name: value for name, value in values.items() if value is not None}


def _is_object(value) -> bool:
    return isinstance(value, dict) and set(value) != {"b64"}


def _listed(names) -> str:
    return ", ".join(map(str, sorted(names)))[:200] or "nothing"
