"""Arrays to tensors of a request, and tensors of an answer to arrays."""

import math

import numpy as np

from .messages import TensorProto

# tensorflow/core/framework/types.proto: number -> (NumPy's dtype, field of its values).
_DTYPES = {
    1: (np.float32, "float_val"),
    2: (np.float64, "double_val"),
    3: (np.int32, "int_val"),
    4: (np.uint8, "int_val"),
    5: (np.int16, "int_val"),
    6: (np.int8, "int_val"),
    7: (object, "string_val"),
    9: (np.int64, "int64_val"),
    10: (np.bool_, "bool_val"),
    17: (np.uint16, "int_val"),
    19: (np.float16, "half_val"),
    22: (np.uint32, "uint32_val"),
    23: (np.uint64, "uint64_val"),
}
_NUMBERS = {np.dtype(dtype): number for number, (dtype, _) in _DTYPES.items()}
_KNOWN = "strings, " + ", ".join(sorted(dtype.name for dtype in _NUMBERS if dtype.name != "object"))
STRING = 7
# The names that REST's metadata have for the same numbers.
DTYPE_NAMES = {
    "DT_FLOAT": 1, "DT_DOUBLE": 2, "DT_INT32": 3, "DT_UINT8": 4, "DT_INT16": 5, "DT_INT8": 6, "DT_STRING": 7,
    "DT_INT64": 9, "DT_BOOL": 10, "DT_UINT16": 17, "DT_HALF": 19, "DT_UINT32": 22, "DT_UINT64": 23,
}  # fmt: skip


def known_dtype(number: int) -> np.dtype | None:
    """Returns NumPy's dtype for a number of types.proto; strings are objects."""
    return np.dtype(_DTYPES[number][0]) if number in _DTYPES else None


def to_proto(array: np.ndarray) -> TensorProto:
    """Writes an array; strings may be `str`, in UTF-8 then, or bytes."""
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        proto = TensorProto(dtype=STRING)
        proto.string_val.extend(as_bytes(value) for value in array.ravel().tolist())
    elif array.dtype in _NUMBERS:
        proto = TensorProto(dtype=_NUMBERS[array.dtype], tensor_content=_little_endian(array).tobytes())
    else:
        raise ValueError(f"an array of dtype {array.dtype} cannot be sent; expected one of {_KNOWN}.")
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    return proto


def from_proto(proto) -> np.ndarray:
    """Reads a tensor; strings become an object array of bytes.

    Raises:
        ValueError: a dtype that this client does not know, or values that do not fit the shape.
    """
    if proto.dtype not in _DTYPES:
        raise ValueError(f"the answer has dtype {proto.dtype} of types.proto; this client reads {_KNOWN}.")
    dtype, field = np.dtype(_DTYPES[proto.dtype][0]), _DTYPES[proto.dtype][1]
    shape = [dim.size for dim in proto.tensor_shape.dim]
    if proto.tensor_content:
        return np.frombuffer(proto.tensor_content, dtype.newbyteorder("<")).astype(dtype).reshape(shape)
    values = list(getattr(proto, field))
    if len(values) == 1 and math.prod(shape) > 1:
        values *= math.prod(shape)  # one value stands for all
    if field == "half_val":
        return np.array(values, np.uint16).view(np.float16).reshape(shape)
    array = np.empty(len(values), dtype)
    array[:] = values
    return array.reshape(shape)


def as_bytes(text: str | bytes) -> bytes:
    """Returns a string as the bytes that travel.

    Raises:
        ValueError: no string, or one that UTF-8 cannot write.
    """
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        kind = type(text).__name__
        raise ValueError(f"received {text!r:.60} ({kind}) among strings; expected str or bytes.")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"received a text with {text[error.start]!r} at character {error.start}, half a surrogate pair; "
            "expected whole characters, which UTF-8 can write. Mend the text or leave it out."
        ) from error


def _little_endian(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
