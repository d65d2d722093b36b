"""The body of a REST predict answer, written as TF Serving writes it: arrays to JSON.

A request in row form is answered by `{"predictions": [...]}`, one element per example, so every
output needs the batch as its first dimension; one in column form by `{"outputs": ...}`, each
tensor as a whole. A single output comes without its name. Strings are UTF-8, but an output whose
name ends in `_bytes` is written as `{"b64": "..."}`. The error texts are the server's own.
"""

import base64
import json

import numpy as np
import tensorflow as tf

from ...gate.saved_model_session import RequestError, cpp_dtype_name

_BYTES_SUFFIX = "_bytes"


def write_answer(outputs: dict[str, np.ndarray], row_form: bool) -> bytes:
    """Writes the answer's body in the request's form, rows or columns."""
    answer = _rows(outputs) if row_form else _columns(outputs)
    # NaN and Infinity are written without quotes, as the server does and most readers accept.
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogateescape")


def write_classifications(result) -> bytes:
    """Writes the body for a `ClassificationResult`: pairs of label and score for each example."""
    rows = [[[one.label, _float(one.score)] for one in each.classes] for each in result.classifications]
    return _results(rows)


def write_regressions(result) -> bytes:
    """Writes the body for a `RegressionResult`: a number for each example."""
    return _results([_float(one.value) for one in result.regressions])


def _results(values: list) -> bytes:
    return json.dumps({"results": values}, ensure_ascii=False).encode("utf-8", "replace")


def _float(value: float) -> float:
    return float(str(np.float32(value)))  # the shortest decimal that reads back as the same float32


def _rows(outputs: dict[str, np.ndarray]) -> dict:
    batch_size = None
    for name, array in outputs.items():
        if array.ndim == 0:
            raise _invalid(f"Tensor name: {name} has no shape information ")
        if batch_size is not None and len(array) != batch_size:
            raise _invalid(
                f"Tensor name: {name} has inconsistent batch size: {len(array)} expecting: {batch_size}"
            )
        batch_size = len(array)
    columns = {name: _write_tensor(name, array) for name, array in outputs.items()}
    if len(columns) == 1:
        return {"predictions": next(iter(columns.values()))}
    names = list(columns)
    return {
        "predictions": [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    }


def _columns(outputs: dict[str, np.ndarray]) -> dict:
    columns = {name: _write_tensor(name, array) for name, array in outputs.items()}
    return {"outputs": next(iter(columns.values())) if len(columns) == 1 else columns}


def _write_tensor(name: str, array: np.ndarray):
    dtype = tf.as_dtype(array.dtype)
    if dtype == tf.string:
        written = np.empty(array.size, object)
        written[:] = [_write_string(name, value) for value in array.ravel()]
        return written.reshape(array.shape).tolist()
    if dtype == tf.float32:
        # The shortest decimal that reads back as the same float32: 0.2, not 0.20000000298.
        return array.astype("U32").astype(np.float64).tolist()
    if dtype == tf.bool or dtype == tf.float64 or dtype.is_integer:
        return array.tolist()
    raise _invalid(f"Failed to write JSON value for tensor type: {cpp_dtype_name(dtype)}")


def _write_string(name: str, value: bytes):
    if name.endswith(_BYTES_SUFFIX):
        return {"b64": base64.b64encode(value).decode("ascii")}
    return value.decode("utf-8", "surrogateescape")


def _invalid(message: str) -> RequestError:
    return RequestError("INVALID_ARGUMENT", message)
