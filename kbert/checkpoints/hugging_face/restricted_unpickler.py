"""Unpickling that builds tensors and nothing else.

The known names are OrderedDict, two functions of torch._utils and torch's storage classes. Here they can only
describe a tensor. The pickle is not run but read, see `pickle_reader`.

Source: torch/_utils.py, `_rebuild_tensor_v2`; torch/serialization.py, the persistent ids of storages.
"""

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import IO

from kbert.checkpoints.hugging_face.pickle_reader import PickleReader, RefusedPickle, set_items

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
_MOST_AXES = 8
_LARGEST_NUMBER = 1 << 48


class BrokenPickle(Exception):
    """The bytes are not a whole pickle."""


@dataclass(frozen=True)
class StorageClass:
    """Stands for `torch.FloatStorage` and its like."""

    dtype: str


@dataclass(frozen=True)
class Storage:
    """A sequence of numbers elsewhere in the file: its key, type and count."""

    key: str
    dtype: str
    count: int


@dataclass(frozen=True)
class TorchTensor:
    """A view of a storage, in elements: where it begins, its shape, and the stride of each axis."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def check_view(count: int, offset, shape, strides):
    """Refuses a view that does not lie inside its storage, or shows numbers of it more than once.

    Args:
      count: how many numbers the storage has.
      offset, shape, strides: the view, in elements.

    Raises:
      RefusedPickle: saying what is wrong.
    """
    if not isinstance(shape, tuple | list) or not isinstance(strides, tuple | list):
        raise RefusedPickle("a tensor without a shape")
    if len(shape) != len(strides) or len(shape) > _MOST_AXES:
        raise RefusedPickle(f"a tensor of {len(shape)} axes and {len(strides)} strides")
    if not all(_is_number(number) for number in (offset, *shape, *strides)):
        raise RefusedPickle("a tensor with an impossible shape")
    if math.prod(size for size in shape if size) > _LARGEST_NUMBER:
        raise RefusedPickle("a tensor with an impossible shape")
    if 0 in shape:
        return
    axes = list(zip(shape, strides, strict=True))
    if offset + sum((size - 1) * stride for size, stride in axes) >= count:
        raise RefusedPickle("a tensor that reaches beyond its storage")
    if math.prod(shape) > count or any(size > 1 and stride == 0 for size, stride in axes):
        raise RefusedPickle("a tensor that repeats numbers of its storage")


def _is_number(value):
    return type(value) is int and 0 <= value <= _LARGEST_NUMBER


def _rebuild_tensor(storage, offset, shape, strides, requires_grad=False, hooks=None, metadata=None):
    del requires_grad, hooks, metadata
    if not isinstance(storage, Storage):
        raise RefusedPickle("a tensor that is not a view of a storage")
    check_view(storage.count, offset, shape, strides)
    return TorchTensor(storage, offset, tuple(shape), tuple(strides))


def _rebuild_parameter(data, requires_grad=True, hooks=None):
    del requires_grad, hooks
    if not isinstance(data, TorchTensor):
        raise RefusedPickle("a parameter that is not a tensor")
    return data


def _ordered_dict(pairs=()):
    # Entries of exactly two: the length of `pairs`, which the reader has counted, is all the work there is.
    if type(pairs) not in (list, tuple) or not all(
        type(it) in (list, tuple) and len(it) == 2 for it in pairs
    ):
        raise RefusedPickle("a dictionary that is not made of pairs")
    ordered = OrderedDict()
    for pair in pairs:
        set_items(ordered, pair)
    return ordered


def _storage(place):
    # ("storage", class, key, device, count) and in old files a view, always None in a state dict
    if type(place) is not tuple or len(place) not in (5, 6) or type(place[0]) is not str:
        raise RefusedPickle("a persistent id that is not a storage")
    kind, storage_class, key, _, count = place[:5]
    if len(place) == 6 and place[5] is not None:
        raise RefusedPickle("a storage that is a view of another one")
    known = kind == "storage" and type(storage_class) is StorageClass and type(key) is str
    if not known or not _is_number(count):
        raise RefusedPickle("a storage of an unknown kind")
    return Storage(key, storage_class.dtype, count)


_CALLABLES = (_ordered_dict, _rebuild_tensor, _rebuild_parameter)
_NAMES: dict[str, object] = {
    "collections OrderedDict": _ordered_dict,
    "torch._utils _rebuild_tensor_v2": _rebuild_tensor,
    "torch._utils _rebuild_parameter": _rebuild_parameter,
} | {f"torch {name}": StorageClass(dtype) for name, dtype in STORAGE_DTYPES.items()}


def load_restricted(file: IO[bytes]):
    """Reads one object made of plain values, OrderedDict, `Storage` and `TorchTensor`.

    Args:
      file: a binary file; afterwards it stands just after the pickle.

    Raises:
      RefusedPickle: when the pickle holds anything else, or asks for more work than a list of tensors does.
        None of its code has run then.
      BrokenPickle: when the bytes are not a whole pickle.
    """
    try:
        return PickleReader(_NAMES, _CALLABLES, _storage).read(file)
    except RefusedPickle:
        raise
    except Exception as error:  # a broken or hostile pickle may fail in any way
        raise BrokenPickle(f"{type(error).__name__}: {error}".replace("\n", " ")[:200]) from None
