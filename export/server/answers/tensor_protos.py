"""TensorProto <-> array, with every bound checked before an array is made.

A tensor may declare 100,000,000 elements and bring one value: by the rules of the format the value is
repeated. So the declared shape is compared with the limits first, and with the bytes that came.
"""

import math

import numpy as np
import tensorflow as tf

from ...gate.saved_model_session import RequestError
from ..limits import Limits

_MAX_RANK = 254  # TensorShape::MaxDimensions of TensorFlow
# As in the real server, values are in the field of their dtype, not in `tensor_content`, because
# many clients read `outputs["probabilities"].float_val`.
_VALUE_FIELDS = {
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int32: "int_val",
    tf.int16: "int_val",
    tf.int8: "int_val",
    tf.uint8: "int_val",
    tf.int64: "int64_val",
    tf.uint32: "uint32_val",
    tf.uint64: "uint64_val",
    tf.bool: "bool_val",
    tf.string: "string_val",
}
_HALVES = {tf.float16: "half_val", tf.bfloat16: "half_val"}


def read_tensor(name: str, proto, limits: Limits) -> np.ndarray:
    """Reads one input of a request.

    Args:
        name: the input's name, for error messages.
        proto: a `TensorProto`.
        limits: the bounds of the server.

    Raises:
        RequestError: `INVALID_ARGUMENT`: a dtype that is no data, a shape that is out of bounds or does not
            fit the values, or too long a text.
    """
    field = (_VALUE_FIELDS | _HALVES).get(_dtype(proto))
    if field is None:
        raise _invalid(name, f"dtype {proto.dtype} cannot be fed")
    elements = _num_elements(name, proto, limits)
    if proto.tensor_content:
        _check_content(name, proto, elements)
    elif len(getattr(proto, field)) > elements or (elements and not getattr(proto, field)):
        raise _invalid(name, f"{len(getattr(proto, field))} values for a shape of {elements} elements")
    if field == "string_val":
        check_texts(name, proto.string_val, limits)
        _check_repeated_text(name, proto, elements, limits)
    try:
        return tf.make_ndarray(proto)
    except (TypeError, ValueError, OverflowError) as error:
        raise _invalid(name, "its values do not fit its dtype and shape") from error


def check_texts(name: str, texts, limits: Limits) -> None:
    """Raises `RequestError` when one of the strings (bytes) is longer than the server takes."""
    longest = max(map(len, texts), default=0)
    if longest > limits.max_text_bytes:
        raise RequestError(
            "INVALID_ARGUMENT",
            f"{name}: a string of {longest} bytes; this server takes up to {limits.max_text_bytes} "
            "(--max_text_bytes).",
        )


def write_tensor(array: np.ndarray):
    """Writes one output as a `TensorProto`."""
    dtype = tf.as_dtype(array.dtype)
    if dtype not in _VALUE_FIELDS:
        return tf.make_tensor_proto(array)
    proto = tf.make_tensor_proto(array.ravel()[:0], dtype=dtype, shape=[0])
    proto.tensor_shape.CopyFrom(tf.TensorShape(array.shape).as_proto())
    getattr(proto, _VALUE_FIELDS[dtype]).extend(array.ravel().tolist())
    return proto


def _dtype(proto) -> tf.DType | None:
    try:
        return tf.as_dtype(proto.dtype)
    except TypeError:  # a number that is no dtype
        return None


def _num_elements(name: str, proto, limits: Limits) -> int:
    sizes = [dim.size for dim in proto.tensor_shape.dim]
    if proto.tensor_shape.unknown_rank or len(sizes) > _MAX_RANK or any(size < 0 for size in sizes):
        raise _invalid(name, "its shape is not fully known")
    elements = math.prod(sizes)  # of Python's integers, which do not overflow
    if max([elements, *sizes]) > limits.max_elements:
        raise _invalid(
            name,
            f"shape {sizes[:8]} is {elements} elements; this server takes up to {limits.max_elements} "
            "(--max_elements)",
        )
    return elements


def _check_content(name: str, proto, elements: int) -> None:
    dtype = tf.as_dtype(proto.dtype)
    expected = -1 if dtype == tf.string else elements * dtype.size
    if len(proto.tensor_content) != expected:
        raise _invalid(name, f"{len(proto.tensor_content)} bytes of content for {elements} elements")


def _check_repeated_text(name: str, proto, elements: int, limits: Limits) -> None:
    values = len(proto.string_val)
    repeated = (elements - values) * len(proto.string_val[-1]) if values else 0
    if repeated > limits.max_message_bytes:
        raise _invalid(name, f"a text repeated to {repeated} bytes")


def _invalid(name: str, reason: str) -> RequestError:
    return RequestError("INVALID_ARGUMENT", f"tensor parsing error: {name}: {reason}")
