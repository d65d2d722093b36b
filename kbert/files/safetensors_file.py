"""safetensors files. Reading gives names, shapes and types at once and each tensor when asked for.

Writing holds one tensor in memory at a time.
"""

import json
import math
import struct
import zlib
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open

from kbert.files.json_values import shown_name
from kbert.files.stored_tensor import StoredTensor, while_unchanged

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}
_NAMES = {name: stored for stored, name in _DTYPES.items()}


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file by name. Raises ValueError when the file is not whole.

    Reading a tensor raises it too when the file has changed since.
    """
    path = Path(path)
    unchanged = while_unchanged(path)
    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}
            return {
                name: StoredTensor(
                    tuple(entry.get_shape()),
                    _DTYPES.get(entry.get_dtype(), entry.get_dtype()),
                    unchanged(_reader(path, name)),
                )
                for name, entry in slices.items()
            }
    except (SafetensorError, OSError) as error:
        raise ValueError(
            f"{path} is not a whole safetensors file ({shown_name(str(error))}); download it again."
        ) from None


def safetensors_metadata(path: Path) -> dict[str, str]:
    """What the header says beside the tensors, such as `{"format": "pt"}`; {} where it says nothing.

    Call it after `read_safetensors`, which says what is wrong with a file.
    """
    with safe_open(path, framework="numpy") as file:
        return file.metadata() or {}


def write_safetensors(path: Path, tensors: dict[str, StoredTensor], metadata: dict[str, str]) -> int:
    """Writes tensors one after the other, so that only one is in memory. Floats are written as float32.

    The safetensors library's own writer needs all tensors at once, and creates files that only their owner
    can read.

    Returns:
      The CRC-32 of the file.

    Source: the format's description in huggingface/safetensors, README.
    """
    header: dict[str, dict] = {"__metadata__": metadata}
    end, written = 0, {}
    for name, tensor in tensors.items():
        tensor = written[name] = tensor.as_float32() if tensor.is_float else tensor
        start, end = end, end + np.dtype(tensor.dtype).itemsize * math.prod(tensor.shape)
        header[name] = {
            "dtype": _NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode("utf-8")
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    with Path(path).open("wb") as file:
        start = struct.pack("<Q", len(text)) + text
        file.write(start)
        crc = zlib.crc32(start)
        for name, tensor in written.items():
            numbers = np.asarray(tensor.read())
            if numbers.shape != tensor.shape:
                raise ValueError(f"{name} has shape {numbers.shape}, but the header says {tensor.shape}.")
            # Little-endian and flat, so that a scalar can be viewed as bytes too.
            numbers = np.ascontiguousarray(numbers, np.dtype(tensor.dtype).newbyteorder("<")).reshape(-1)
            file.write(numbers.view(np.uint8))
            crc = zlib.crc32(numbers.view(np.uint8), crc)
    return crc


def _reader(path, name):
    def read():
        try:
            with safe_open(path, framework="numpy") as file:
                return file.get_tensor(name)
        except (SafetensorError, OSError, TypeError) as error:
            raise ValueError(
                f"{path}: {shown_name(name)} cannot be read ({shown_name(str(error))})."
            ) from None

    return read
