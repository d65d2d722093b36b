"""`pytorch_model.bin` without PyTorch: both of its layouts, tensors read when asked.

Since PyTorch 1.6 the file is a zip archive: a pickle of the state dict (`*/data.pkl`) and a file for each
storage (`*/data/<key>`). Before, it was a sequence of pickles (magic number, protocol, system, state dict,
list of keys), followed by the storages, each after its number of elements.

Source: torch/serialization.py, `_save`, `_legacy_save`.
"""

import contextlib
import io
import math
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

from kbert.checkpoints.hugging_face.torch_pickle import (
    MOST_BYTES,
    RefusedPickle,
    TorchTensor,
    load_restricted,
)
from kbert.files.json_values import shown, shown_name
from kbert.files.stored_tensor import StoredTensor, while_unchanged

_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001
_COUNT = struct.Struct("<q")
# What a damaged archive makes Python's zipfile and struct raise.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    KeyError,
    NotImplementedError,
    OSError,
    OverflowError,
    RuntimeError,
    UnicodeDecodeError,
)


def read_torch_file(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a PyTorch state dict by name.

    Raises:
      ValueError: for a truncated file, a file that is not a state dict, and a file that names code. Reading a
        tensor raises it too when the file has changed since.
    """
    unchanged = while_unchanged(path)
    with _in_one_sentence(path):
        with path.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        tensors, sizes, read = _open_zip(path) if is_zip else _open_legacy(path)
        for storage in (tensor.storage for tensor in tensors.values()):
            if sizes.get(storage.key) != storage.count * storage.dtype.itemsize:
                raise EOFError(f"storage {shown(storage.key)} is cut short")

    @unchanged
    def read_storage(key):
        with _in_one_sentence(path):
            return read(key)

    return {name: _stored(path, tensor, read_storage) for name, tensor in tensors.items()}


@contextlib.contextmanager
def _in_one_sentence(path):
    try:
        yield
    except RefusedPickle as error:
        raise ValueError(
            f"{path} is refused: besides tensors it holds {error}, and kbert runs no code from a "
            "checkpoint; use the model's safetensors file."
        ) from None
    except _DAMAGE as error:
        raise ValueError(
            f"{path} is not a whole PyTorch file ({shown_name(str(error))}); download it again."
        ) from None


# A layout gives (name -> tensor, key of a storage -> its size, function from a key to the bytes).


def _open_zip(path):
    with zipfile.ZipFile(path) as archive:
        _refuse_compressed(path, archive)
        sizes = {info.filename: info.file_size for info in archive.infolist()}
        pickles = [name for name in sizes if name.endswith("/data.pkl") or name == "data.pkl"]
        if len(pickles) != 1:
            raise ValueError(f"{path} is a zip archive without a PyTorch state dict.")
        root = pickles[0].removesuffix("data.pkl")
        if f"{root}byteorder" in sizes:
            _require_little_endian(path, archive.read(f"{root}byteorder") == b"little")
        with archive.open(pickles[0]) as file:
            state = load_restricted(io.BytesIO(file.read(MOST_BYTES)))

    def read(key):
        with zipfile.ZipFile(path) as archive:
            return archive.read(f"{root}data/{key}")

    sizes = {name.removeprefix(f"{root}data/"): size for name, size in sizes.items()}
    return _tensors(path, state), sizes, read


def _refuse_compressed(path, archive):
    """Refuses compressed archives. Without compression nothing is larger in memory than in the file."""
    for info in archive.infolist():
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ValueError(
                f"{path} holds compressed parts ({shown(info.filename)}); torch.save writes none: use the "
                "file as it was saved, or the model's safetensors file."
            )


def _require_little_endian(path, little_endian):
    if not little_endian:
        raise ValueError(f"{path} was written on a big-endian machine; save it on a little-endian one.")


def _open_legacy(path):
    starts, sizes, end = {}, {}, path.stat().st_size
    with path.open("rb") as file:
        head = io.BytesIO(file.read(MOST_BYTES))
        magic_number, protocol, system, state, keys = (load_restricted(head) for _ in range(5))
        if magic_number != _MAGIC_NUMBER or protocol != _PROTOCOL or type(system) is not dict:
            raise ValueError(f"{path} is a pickle, but not a PyTorch file of tensors.")
        _require_little_endian(path, system.get("little_endian") is True)
        tensors = _tensors(path, state)
        dtypes = {tensor.storage.key: tensor.storage.dtype for tensor in tensors.values()}
        if type(keys) is not list or not all(type(key) is str and key in dtypes for key in keys):
            raise EOFError("its list of storages is not that of its tensors")
        file.seek(head.tell())
        for key in keys:
            (count,) = _COUNT.unpack(file.read(_COUNT.size))
            starts[key], sizes[key] = file.tell(), count * dtypes[key].itemsize
            if not 0 <= sizes[key] <= end - file.tell():
                raise EOFError(f"storage {shown(key)} is cut short")
            file.seek(sizes[key], 1)

    def read(key):
        with path.open("rb") as file:
            file.seek(starts[key])
            return file.read(sizes[key])

    return tensors, sizes, read


def _tensors(path, state) -> dict[str, TorchTensor]:
    if type(state) is not dict or not state:
        kind = type(state).__name__
        raise ValueError(f"{path} holds no state dict (names with tensors) but an object of type {kind}.")
    for name, value in state.items():
        if not isinstance(value, TorchTensor):
            raise ValueError(
                f"{path} is not a plain state dict: {shown(name)} is not the name of a tensor; save only "
                "model.state_dict()."
            )
    return state


def _stored(path, tensor: TorchTensor, read_storage) -> StoredTensor:
    dtype = tensor.storage.dtype

    def read():
        if not math.prod(tensor.shape):
            return np.zeros(tensor.shape, dtype)
        data = read_storage(tensor.storage.key)
        strides = [stride * dtype.itemsize for stride in tensor.strides]
        try:
            # NumPy itself checks that a view of these bytes does not reach beyond them.
            view = np.ndarray(tensor.shape, dtype, data, tensor.offset * dtype.itemsize, strides)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{path} is not a whole PyTorch file ({error}); download it again.") from None
        return np.ascontiguousarray(view).reshape(tensor.shape)

    return StoredTensor(tensor.shape, dtype.name, read)
