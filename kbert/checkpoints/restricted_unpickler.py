"""Unpickling that builds tensors and nothing else.

A pickle is a program: it names callables and has them called. This unpickler knows five names, none of
which can do anything but describe a tensor, and refuses every other one before it is even imported.

Source: Python's pickle documentation, "Restricting Globals"; torch/_utils.py, `_rebuild_tensor_v2`;
torch/serialization.py, the persistent ids of storages.
"""

import io
import pickle
from collections import OrderedDict
from dataclasses import dataclass

# The storage classes of a state dict -> NumPy's name of what they hold.
STORAGE_DTYPES = {
    "FloatStorage": "float32",
    "DoubleStorage": "float64",
    "HalfStorage": "float16",
    "BFloat16Storage": "bfloat16",
    "LongStorage": "int64",
    "IntStorage": "int32",
    "ShortStorage": "int16",
    "CharStorage": "int8",
    "ByteStorage": "uint8",
    "BoolStorage": "bool",
}


class RefusedPickle(Exception):
    """The pickle names something that is no tensor."""


class BrokenPickle(Exception):
    """The bytes are no whole pickle."""


@dataclass(frozen=True, slots=True)
class StorageClass:
    """Stands for `torch.FloatStorage` and its like."""

    dtype: str


@dataclass(frozen=True, slots=True)
class Storage:
    """A run of numbers elsewhere in the file: its key, type and count."""

    key: str
    dtype: str
    count: int


@dataclass(frozen=True, slots=True)
class TorchTensor:
    """A view of a storage, in elements: where it begins, its shape, and the stride of each axis."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Rebuild:
    """`torch._utils._rebuild_tensor_v2` and `_rebuild_parameter`, without attributes to tamper with."""

    __slots__ = ()


class _RebuildTensor(_Rebuild):
    __slots__ = ()

    def __call__(self, storage, offset, shape, strides, requires_grad=False, hooks=None, metadata=None):
        del requires_grad, hooks, metadata
        shape, strides = tuple(shape), tuple(strides)
        if not isinstance(storage, Storage) or len(shape) != len(strides):
            raise RefusedPickle("a tensor that is not a view of a storage")
        if not all(isinstance(number, int) and number >= 0 for number in (offset, *shape, *strides)):
            raise RefusedPickle("a tensor with an impossible shape")
        # The last element must lie inside: NumPy would read whatever follows in memory.
        last = offset + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
        if 0 not in shape and last >= storage.count:
            raise RefusedPickle("a tensor that reaches beyond its storage")
        return TorchTensor(storage, offset, shape, strides)


class _RebuildParameter(_Rebuild):
    __slots__ = ()

    def __call__(self, data, requires_grad=True, hooks=None):
        del requires_grad, hooks
        if not isinstance(data, TorchTensor):
            raise RefusedPickle("a parameter that is no tensor")
        return data


class _Unpickler(pickle.Unpickler):
    def find_class(self, module, name):
        if module == "torch" and name in STORAGE_DTYPES:
            return StorageClass(STORAGE_DTYPES[name])
        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _RebuildTensor(),
            ("torch._utils", "_rebuild_parameter"): _RebuildParameter(),
        }
        if (module, name) not in known:
            raise RefusedPickle(f"{module}.{name}")
        return known[module, name]

    def persistent_load(self, pid):
        # ("storage", class, key, device, count) and in old files a view, always None in a state dict
        if not isinstance(pid, tuple) or len(pid) not in (5, 6) or pid[0] != "storage":
            raise RefusedPickle(f"a persistent id that is no storage: {str(pid)[:60]}")
        _, storage_class, key, _, count = pid[:5]
        if len(pid) == 6 and pid[5] is not None:
            raise RefusedPickle("a storage that is a view of another one")
        if not isinstance(storage_class, StorageClass) or not isinstance(count, int) or count < 0:
            raise RefusedPickle(f"a storage of an unknown kind: {str(pid)[:60]}")
        return Storage(str(key), storage_class.dtype, count)


def load_restricted(file: io.BufferedIOBase):
    """Unpickles one object made of plain values, OrderedDict, `Storage` and `TorchTensor`.

    Args:
      file: a binary file; it is left behind the pickle's last byte.

    Raises:
      RefusedPickle: when the pickle names anything else. Nothing of it has run then.
      BrokenPickle: when the bytes are no whole pickle.
    """
    try:
        return _Unpickler(file).load()
    except RefusedPickle:
        raise
    except Exception as error:  # a broken or hostile pickle may fail in any way
        raise BrokenPickle(f"{type(error).__name__}: {error}".replace("\n", " ")) from None
