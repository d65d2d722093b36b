"""Values as bytes behind the JSON of a request or an answer: the binary tensor data extension of the Open
Inference Protocol, which Triton's and KServe's clients use unless they are told otherwise.

Reference: https://github.com/triton-inference-server/server/blob/main/docs/protocol/extension_binary_data.md
"""

import math
import re

import numpy as np
import tensorflow as tf

from .limits import Limits
from .request import invalid
from .tensors import check_size, check_texts

JSON_SIZE = "Inference-Header-Content-Length"  # the header that says how many bytes of a body are JSON
_LENGTH_BYTES = 4  # before each text, little-endian


def split_body(body: bytes, json_size: str | None) -> tuple[bytes, "BinaryValues"]:
    """A body as its JSON and the values behind it; all of it is JSON where the header is not there."""
    if json_size is None:
        return body, BinaryValues(b"")
    if not re.fullmatch("[0-9]{1,18}", json_size) or int(json_size) > len(body):
        raise invalid(
            f"{JSON_SIZE}: received {json_size[:40]!r}; expected how many of the body's {len(body)} bytes "
            "are JSON."
        )
    return body[: int(json_size)], BinaryValues(body[int(json_size) :])


class BinaryValues:
    """The bytes behind the JSON: those of one tensor after the other, row after row, little-endian."""

    def __init__(self, values: bytes):
        self._rest = values

    def take(self, name: str, size: int, shape: list[int], dtype: tf.DType, limits: Limits) -> np.ndarray:
        """The next `size` bytes as an array.

        Raises:
          RequestError: there are fewer, they are not the values of that shape, or there are more of them than
            the server takes.
        """
        if size > len(self._rest):
            raise invalid(
                f"{name}: binary_data_size is {size}, and {len(self._rest)} bytes are left behind the JSON."
            )
        values, self._rest = self._rest[:size], self._rest[size:]
        elements = math.prod(shape)
        check_size(name, max([elements, *shape]), dtype, limits)
        if dtype == tf.string:
            return _texts(name, values, elements, limits).reshape(shape)
        if size != elements * dtype.size:
            raise invalid(f"{name}: {size} bytes for the shape {shape}; expected {elements * dtype.size}.")
        stored = np.dtype(np.uint8 if dtype == tf.bool else dtype.as_numpy_dtype).newbyteorder("<")
        return np.frombuffer(values, stored).astype(dtype.as_numpy_dtype).reshape(shape)

    def require_end(self) -> None:
        """Raises `RequestError` where bytes are left that no tensor has taken."""
        if self._rest:
            raise invalid(f"{len(self._rest)} bytes behind the JSON are of no tensor; see binary_data_size.")


def as_bytes(array: np.ndarray) -> bytes:
    """The values of an output, as clients read them behind the JSON of an answer."""
    if array.dtype == object:
        return b"".join(len(text).to_bytes(_LENGTH_BYTES, "little") + text for text in array.ravel())
    return array.astype(array.dtype.newbyteorder("<")).tobytes()


def _texts(name: str, values: bytes, number: int, limits: Limits) -> np.ndarray:
    texts, position = np.empty(number, object), 0
    for index in range(number):
        start = position + _LENGTH_BYTES
        position = start + int.from_bytes(values[position:start], "little")
        texts[index] = values[start:position]
    if position != len(values):  # then also where a length or a text was cut
        raise invalid(
            f"{name}: its {len(values)} bytes are not {number} texts, each behind its length in "
            f"{_LENGTH_BYTES} bytes."
        )
    check_texts(name, texts, limits)
    return texts
