"""The pickle of a PyTorch state dict, read without running it: its instructions one by one, as data.

A pickle is a program: it names functions, calls them, and sets the state of the objects that they return.
This reader knows the instructions that `torch.save` writes (protocol 2) and the names of a state dict, and
refuses all else. Nothing here takes longer than the pickle is long: texts are short, only texts are hashed,
a call has few arguments, and objects are never compared or printed as a whole, because a small pickle can
describe a huge object by repeating its parts.

Source: Python's pickletools, which describes every instruction; torch/_utils.py, `_rebuild_tensor_v2`;
torch/serialization.py, the persistent ids of storages.
"""

import math
import pickle
import pickletools
from dataclasses import dataclass
from types import FunctionType
from typing import IO

import ml_dtypes
import numpy as np

from kbert.files.json_values import shown

# A tensor takes about 40 instructions and 200 bytes: room for 25,000 of them.
_MOST_INSTRUCTIONS = 1_000_000
MOST_BYTES = 1 << 25
_LONGEST_TEXT = 1000
_MOST_AXES = 8
_LARGEST_NUMBER = 1 << 48
_INSTRUCTIONS = {opcode.code.encode("latin-1"): opcode.name for opcode in pickletools.opcodes}


class RefusedPickle(Exception):
    """The pickle holds something that is not allowed, or asks for too much work."""


class BrokenPickle(Exception):
    """The bytes are not a whole pickle."""


@dataclass(frozen=True)
class Storage:
    """A sequence of numbers elsewhere in the file: its key, type and count."""

    key: str
    dtype: np.dtype
    count: int


@dataclass(frozen=True)
class TorchTensor:
    """A view of a storage, in elements: where it begins, its shape, and the stride of each axis."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def load_restricted(file: IO[bytes]):
    """Reads one object made of plain values, lists, dictionaries, `Storage` and `TorchTensor`.

    Args:
      file: a binary file of at most MOST_BYTES; afterwards it stands just after the pickle.

    Raises:
      RefusedPickle: when the pickle holds anything else, or asks for more work than a list of tensors does.
        None of its code has run then.
      BrokenPickle: when the bytes are not a whole pickle.
    """
    try:
        return _Reader(file).read()
    except RefusedPickle:
        raise
    except Exception as error:  # a broken or hostile pickle may fail in any way
        raise BrokenPickle(f"{type(error).__name__}: {error}".replace("\n", " ")[:200]) from None


class _Reader:
    """The stack, the marks and the memo that the instructions work on."""

    def __init__(self, file):
        self._file, self._stack, self._marks, self._memo = file, [], [], {}

    def read(self):
        for _ in range(_MOST_INSTRUCTIONS):
            code = self._bytes(1)
            if code == pickle.STOP:
                return self._stack.pop()
            self._follow(code)
        raise RefusedPickle(f"more than {_MOST_INSTRUCTIONS} instructions")

    def _follow(self, code):
        push, pop = self._stack.append, self._stack.pop
        match code:
            case pickle.PROTO:
                self._bytes(1)
            case pickle.NONE:
                push(None)
            case pickle.NEWTRUE | pickle.NEWFALSE:
                push(code == pickle.NEWTRUE)
            case pickle.BININT1 | pickle.BININT2:
                push(self._number(1 if code == pickle.BININT1 else 2))
            case pickle.BININT:
                push(self._number(4, signed=True))
            case pickle.LONG1:
                push(self._number(self._number(1), signed=True))
            case pickle.BINUNICODE:
                push(self._text())
            case pickle.GLOBAL:
                push(self._named())
            case pickle.BINPUT | pickle.LONG_BINPUT:
                self._memo[self._number(1 if code == pickle.BINPUT else 4)] = self._stack[-1]
            case pickle.BINGET | pickle.LONG_BINGET:
                push(self._memo[self._number(1 if code == pickle.BINGET else 4)])
            case pickle.MARK:
                self._marks.append(len(self._stack))
            case pickle.EMPTY_TUPLE:
                push(())
            case pickle.EMPTY_LIST:
                push([])
            case pickle.EMPTY_DICT:
                push({})
            case pickle.TUPLE:
                push(tuple(self._since_mark()))
            case pickle.TUPLE1 | pickle.TUPLE2 | pickle.TUPLE3:
                push(tuple(self._last(code[0] - pickle.TUPLE1[0] + 1)))
            case pickle.APPEND | pickle.APPENDS:
                self._extend(self._last(1) if code == pickle.APPEND else self._since_mark())
            case pickle.SETITEM | pickle.SETITEMS:
                self._set_items(self._last(2) if code == pickle.SETITEM else self._since_mark())
            case pickle.REDUCE:
                push(_call(*self._last(2)))
            case pickle.BUILD:
                pop()  # a state dict has its version numbers as an attribute; they are not needed here
                if type(self._stack[-1]) is not dict:
                    raise RefusedPickle(f"a state for the type {type(self._stack[-1]).__name__}")
            case pickle.BINPERSID:
                push(_storage(pop()))
            case _:
                raise RefusedPickle(f"the instruction {_INSTRUCTIONS[code]}")

    def _bytes(self, count):
        data = self._file.read(count)
        if len(data) < count:
            raise EOFError("it ends early")
        return data

    def _number(self, size, signed=False):
        return int.from_bytes(self._bytes(size), "little", signed=signed)

    def _text(self):
        size = self._number(4)
        if size > _LONGEST_TEXT:
            raise RefusedPickle(f"a text of {size} bytes")
        return self._bytes(size).decode("utf-8")

    def _named(self):
        module, name = (self._file.readline(_LONGEST_TEXT).decode("utf-8").rstrip("\n") for _ in range(2))
        if f"{module}.{name}" not in _NAMES:
            raise RefusedPickle(shown(f"{module}.{name}").strip("'"))
        return _NAMES[f"{module}.{name}"]

    def _since_mark(self):
        return self._last(len(self._stack) - self._marks.pop())

    def _last(self, count):
        values = [self._stack.pop() for _ in range(count)]
        return values[::-1]

    def _extend(self, values):
        if type(self._stack[-1]) is not list:
            raise RefusedPickle("an entry for something that is not a list")
        self._stack[-1].extend(values)

    def _set_items(self, items):
        keys = items[::2]
        if type(self._stack[-1]) is not dict or not all(type(key) is str for key in keys):
            raise RefusedPickle("an entry for something that is not a dictionary of names")
        self._stack[-1].update(zip(keys, items[1::2], strict=True))


def _call(function, arguments):
    if type(function) is not FunctionType or type(arguments) is not tuple:
        raise RefusedPickle("a call of something that is not a function")
    return function(*arguments)


def _storage(place):
    # ("storage", class, key, device, count) and in old files a view, always None in a state dict
    if type(place) is not tuple or len(place) not in (5, 6) or place[5:] not in ((), (None,)):
        raise RefusedPickle("a persistent id that is not a storage")
    kind, dtype, key, _, count = place[:5]
    if kind != "storage" or not isinstance(dtype, np.dtype) or type(key) is not str or not _is_number(count):
        raise RefusedPickle("a storage of an unknown kind")
    return Storage(key, dtype, count)


def _is_number(value):
    return type(value) is int and 0 <= value <= _LARGEST_NUMBER


def check_view(count: int, offset, shape, strides):
    """Refuses a view that does not lie inside its storage, or shows numbers of it more than once.

    Args:
      count: how many numbers the storage has.
      offset, shape, strides: the view, in elements.

    Raises:
      RefusedPickle: saying what is wrong.
    """
    if type(shape) is not tuple or type(strides) is not tuple or len(shape) != len(strides):
        raise RefusedPickle("a tensor without a shape")
    if len(shape) > _MOST_AXES or not all(_is_number(number) for number in (offset, *shape, *strides)):
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


def _dictionary(*pairs):
    if pairs:
        raise RefusedPickle("a dictionary that is made of pairs, as Python 2 writes it")
    return {}


def _rebuild_tensor(storage, offset, shape, strides, requires_grad=False, hooks=None, metadata=None):
    del requires_grad, hooks, metadata
    if not isinstance(storage, Storage):
        raise RefusedPickle("a tensor that is not a view of a storage")
    check_view(storage.count, offset, shape, strides)
    return TorchTensor(storage, offset, shape, strides)


_NAMES: dict[str, object] = {
    "collections.OrderedDict": _dictionary,
    "torch._utils._rebuild_tensor_v2": _rebuild_tensor,
    "torch.FloatStorage": np.dtype("float32"),
    "torch.DoubleStorage": np.dtype("float64"),
    "torch.HalfStorage": np.dtype("float16"),
    "torch.BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "torch.LongStorage": np.dtype("int64"),
    "torch.IntStorage": np.dtype("int32"),
    "torch.ShortStorage": np.dtype("int16"),
    "torch.CharStorage": np.dtype("int8"),
    "torch.ByteStorage": np.dtype("uint8"),
    "torch.BoolStorage": np.dtype("bool"),
}
