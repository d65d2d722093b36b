"""`pytorch_model.bin` without PyTorch: both of its layouts, tensors read when asked.

Since PyTorch 1.6 the file is a zip archive: a pickle of the state dict (`*/data.pkl`) and a file for each
storage (`*/data/<key>`). Before, it was a sequence of pickles (magic number, protocol, system, state dict,
list of keys), followed by the storages, each after its number of elements.

Source: torch/serialization.py, `_save`, `_legacy_save`.
"""

import contextlib
import math
import struct
import zipfile
import zlib
from pathlib import Path

import ml_dtypes
import numpy as np

from kbert.checkpoints.hugging_face.pickle_reader import RefusedPickle
from kbert.checkpoints.hugging_face.restricted_unpickler import BrokenPickle, TorchTensor, load_restricted
from kbert.files.json_values import is_unicode, shown, shown_name
from kbert.files.stored_tensor import StoredTensor
from kbert.files.unchanged_file import while_unchanged

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
)


def read_torch_file(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a PyTorch state dict by name.

    Raises:
      ValueError: for a truncated file, a file that is not a state dict, and a file that names code. Reading a
        tensor raises it too when the file has changed since.
    """
    with _told_in_one_sentence(path):
        if zipfile.is_zipfile(path):
            return _read_zip(path)
        return _read_legacy(path)


@contextlib.contextmanager
def _told_in_one_sentence(path):
    try:
        yield
    except RefusedPickle as error:
        raise ValueError(
            f"{path} is refused: besides tensors it holds {error}, and kbert runs no code from a "
            "checkpoint; use the model's safetensors file."
        ) from None
    except (BrokenPickle, *_DAMAGE) as error:
        raise ValueError(
            f"{path} is not a whole PyTorch file ({shown_name(str(error))}); download it again."
        ) from None


def _read_zip(path):
    as_it_is = while_unchanged(path)
    with zipfile.ZipFile(path) as archive:
        _refuse_compressed(path, archive)
        names = archive.namelist()
        pickles = [name for name in names if name.endswith("/data.pkl") or name == "data.pkl"]
        if len(pickles) != 1:
            raise ValueError(f"{path} is a zip archive without a PyTorch state dict.")
        root = pickles[0].removesuffix("data.pkl")
        if f"{root}byteorder" in names and not _is_little_endian(archive, f"{root}byteorder"):
            raise ValueError(f"{path} was written on a big-endian machine; save it on a little-endian one.")
        with archive.open(pickles[0]) as file:
            state = load_restricted(file)
        sizes = {info.filename: info.file_size for info in archive.infolist()}

    @as_it_is
    def read_storage(storage):
        with _told_in_one_sentence(path), zipfile.ZipFile(path) as archive:
            return archive.read(f"{root}data/{storage.key}")

    tensors = _tensors(path, state)
    for tensor in tensors.values():
        storage = tensor.storage
        if sizes.get(f"{root}data/{storage.key}") != storage.count * _itemsize(storage.dtype):
            raise ValueError(
                f"{path} is not a whole PyTorch file (storage {shown(storage.key)}); download it again."
            )
    return {name: _stored(path, tensor, read_storage) for name, tensor in tensors.items()}


def _refuse_compressed(path, archive):
    """Refuses compressed archives. Without compression nothing is larger in memory than in the file."""
    for info in archive.infolist():
        if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
            raise ValueError(
                f"{path} holds compressed parts ({shown(info.filename)}); torch.save writes none: use the "
                "file as it was saved, or the model's safetensors file."
            )


def _is_little_endian(archive, name):
    with archive.open(name) as file:
        return file.read(7) == b"little"


def _read_legacy(path):
    places, as_it_is = {}, while_unchanged(path)
    with path.open("rb") as file:
        if load_restricted(file) != _MAGIC_NUMBER or load_restricted(file) != _PROTOCOL:
            raise ValueError(f"{path} is a pickle, but not a PyTorch file of tensors.")
        system = load_restricted(file)
        if not isinstance(system, dict) or not system.get("little_endian"):
            raise ValueError(f"{path} was written on a big-endian machine; save it on a little-endian one.")
        state = load_restricted(file)
        tensors = _tensors(path, state)
        keys = load_restricted(file)
        storages = {tensor.storage.key: tensor.storage for tensor in tensors.values()}
        if any(storages[tensor.storage.key] != tensor.storage for tensor in tensors.values()):
            raise ValueError(f"{path} is not a whole PyTorch file (a storage has two sizes or types).")
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ValueError(f"{path} is not a whole PyTorch file (it has no list of storages).")
        if not set(storages) <= set(keys):
            raise ValueError(f"{path} is not a whole PyTorch file (its list of storages is not complete).")
        end = path.stat().st_size
        for key in keys:
            if key not in storages:
                raise ValueError(
                    f"{path}: storage {shown(key)} belongs to no tensor; kbert cannot tell its size."
                )
            (count,) = _COUNT.unpack(file.read(_COUNT.size))
            size = count * _itemsize(storages[key].dtype)
            if count != storages[key].count or file.tell() + size > end:
                raise EOFError(f"storage {shown(key)} is cut short")
            places[key] = (file.tell(), size)
            file.seek(size, 1)

    @as_it_is
    def read_storage(storage):
        start, size = places[storage.key]
        with _told_in_one_sentence(path), path.open("rb") as file:
            file.seek(start)
            return file.read(size)

    return {name: _stored(path, tensor, read_storage) for name, tensor in tensors.items()}


def _tensors(path, state) -> dict[str, TorchTensor]:
    if not isinstance(state, dict) or not state:
        kind = type(state).__name__
        raise ValueError(f"{path} holds no state dict (names with tensors) but an object of type {kind}.")
    strange = [
        name
        for name, value in state.items()
        if not isinstance(value, TorchTensor) or type(name) is not str or not is_unicode(name)
    ]
    if strange:
        raise ValueError(
            f"{path} is not a plain state dict: {shown(strange[0])} is not the name of a tensor; save "
            "only model.state_dict()."
        )
    return state


def _stored(path, tensor: TorchTensor, read_storage) -> StoredTensor:
    dtype = _dtype(tensor.storage.dtype)

    def read():
        if not math.prod(tensor.shape):
            return np.zeros(tensor.shape, dtype)
        data = read_storage(tensor.storage)
        strides = [stride * dtype.itemsize for stride in tensor.strides]
        try:
            # NumPy itself checks that a view of these bytes does not reach beyond them.
            view = np.ndarray(tensor.shape, dtype, data, tensor.offset * dtype.itemsize, strides)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{path} is not a whole PyTorch file ({error}); download it again.") from None
        return np.ascontiguousarray(view).reshape(tensor.shape)

    return StoredTensor(tensor.shape, tensor.storage.dtype, read)


def _dtype(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def _itemsize(name):
    return _dtype(name).itemsize
