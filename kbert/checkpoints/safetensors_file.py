"""safetensors files: names, shapes and types at once, tensors when asked."""

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


def _reader(path, name):
    def read():
        with safe_open(path, framework="numpy") as file:
            return file.get_tensor(name)

    return read
