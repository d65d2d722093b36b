"""Tensors of gRPC requests and answers, with every bound checked before an array is made.

A `TensorProto` may declare 100,000,000 elements and bring one value: by the rules of the format that value
is repeated. Here a number may be repeated, a text never, and the declared shape is first compared with the
limits.
"""

import math

import numpy as np
import tensorflow as tf

from .limits import Limits
from .request import invalid

MAX_RANK = 8
_VALUE_FIELDS = {
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int32: "int_val",
    tf.int64: "int64_val",
    tf.bool: "bool_val",
    tf.string: "string_val",
}


def read_tensor(name: str, proto, limits: Limits) -> np.ndarray:
    """One input of a request.

    Args:
      name: the input's name, for errors.
      proto: a `TensorProto`.
      limits: the bounds of the server.

    Raises:
      RequestError: a dtype that no signature has, a shape beyond the limits or one that does not fit the
        values, or too long a text.
    """
    dtype = next((dtype for dtype in _VALUE_FIELDS if dtype.as_datatype_enum == proto.dtype), None)
    if dtype is None:
        raise invalid(f"{name}: dtype {proto.dtype}; expected {', '.join(d.name for d in _VALUE_FIELDS)}.")
    sizes = [dim.size for dim in proto.tensor_shape.dim]
    if proto.tensor_shape.unknown_rank or len(sizes) > MAX_RANK or any(size < 0 for size in sizes):
        raise invalid(f"{name}: its shape is not known; expected up to {MAX_RANK} sizes of 0 or more.")
    elements = math.prod(sizes)  # of Python's integers, which do not overflow
    check_size(name, max([elements, *sizes]), dtype, limits)
    is_packed = dtype != tf.string and bool(proto.tensor_content)
    num_values = (
        len(proto.tensor_content) / dtype.size if is_packed else len(getattr(proto, _VALUE_FIELDS[dtype]))
    )
    repeats = dtype != tf.string and not is_packed and num_values == 1 and elements > 0
    if not repeats and num_values != elements:
        raise invalid(f"{name}: {num_values:g} values for shape {sizes}; expected {elements}.")
    if dtype == tf.string:
        check_texts(name, proto.string_val, limits)
    return tf.make_ndarray(proto)


def write_tensor(array: np.ndarray):
    """One output as a `TensorProto`, its values in the field of their dtype, where clients look for them."""
    dtype = tf.as_dtype(array.dtype)
    if dtype not in _VALUE_FIELDS:
        return tf.make_tensor_proto(array)
    proto = tf.make_tensor_proto(array.ravel()[:0], dtype=dtype, shape=[0])
    proto.tensor_shape.CopyFrom(tf.TensorShape(array.shape).as_proto())
    getattr(proto, _VALUE_FIELDS[dtype]).extend(array.ravel().tolist())
    return proto


def check_size(name: str, elements: int, dtype: tf.DType, limits: Limits) -> None:
    """Raises `RequestError` for more elements than the server takes."""
    flag = "max_texts" if dtype == tf.string else "max_elements"
    if elements > getattr(limits, flag):
        raise invalid(
            f"{name}: {elements} {'texts' if dtype == tf.string else 'numbers'}; this server takes up to "
            f"{getattr(limits, flag)} in a request (--{flag})."
        )


def check_texts(name: str, texts, limits: Limits) -> None:
    """Raises `RequestError` where one of the texts (bytes) is longer than the server takes."""
    longest = max(map(len, texts), default=0)
    if longest > limits.max_text_bytes:
        raise invalid(
            f"{name}: a text of {longest} bytes; this server takes up to {limits.max_text_bytes} "
            "(--max_text_bytes)."
        )
