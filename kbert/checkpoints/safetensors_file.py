"""safetensors files: names, shapes and types at once, tensors when asked; and written one at a time."""

import json
import math
import struct
from pathlib import Path

from safetensors import SafetensorError, safe_open

from kbert.checkpoints.stored_tensor import StoredTensor

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


def read_safetensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a safetensors file by name. Raises ValueError when the file is not whole."""
    path = Path(path)
    try:
        with safe_open(path, framework="numpy") as file:
            slices = {name: file.get_slice(name) for name in file.keys()}
            return {
                name: StoredTensor(
                    tuple(entry.get_shape()),
                    _DTYPES.get(entry.get_dtype(), entry.get_dtype()),
                    _reader(path, name),
                )
                for name, entry in slices.items()
            }
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is not a whole safetensors file ({error}); download it again.") from None


def write_safetensors(path: Path, tensors: dict[str, StoredTensor], metadata: dict[str, str]):
    """Writes float32 tensors, holding no more than one of them in memory.

    The library's own writer takes all tensors at once, and makes files that only their owner can read.

    Source: the format's description in huggingface/safetensors, README.
    """
    header, end = {"__metadata__": metadata}, 0
    for name, tensor in tensors.items():
        start, end = end, end + 4 * math.prod(tensor.shape)
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode("utf-8")
    text += b" " * (-len(text) % 8)  # so that the numbers are aligned
    with Path(path).open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, tensor in tensors.items():
            numbers = tensor.as_float32().read()
            if numbers.shape != tensor.shape:
                raise ValueError(f"{name} has shape {numbers.shape}, but {tensor.shape} was announced.")
            file.write(numbers.astype("<f4", copy=False).tobytes())


def _reader(path, name):
    def read():
        with safe_open(path, framework="numpy") as file:
            return file.get_tensor(name)

    return read
