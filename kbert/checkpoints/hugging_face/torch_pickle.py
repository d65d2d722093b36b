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


class RefusedPickle(Exception):
    """The pickle holds something that is not allowed, or asks for too much work."""


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
      EOFError: when the bytes are not a whole pickle.
    """
    try:
        reader = _Reader()
        for number, (instruction, argument, _) in enumerate(pickletools.genops(file)):
            if number >= _MOST_INSTRUCTIONS:
                raise RefusedPickle(f"more than {_MOST_INSTRUCTIONS} instructions")
            reader.follow(instruction.name, argument)
        return reader.stack.pop()
    except RefusedPickle:
        raise
    except Exception as error:  # a broken or hostile pickle may fail in any way
        raise EOFError(f"{type(error).__name__}: {error}".replace("\n", " ")[:200]) from None


class _Reader:
    """The stack, the marks and the memo that the instructions work on."""

    def __init__(self):
        self.stack, self._marks, self._memo = [], [], {}

    def follow(self, instruction, argument):
        push, pop = self.stack.append, self.stack.pop
        match instruction:
            case "PROTO" | "STOP":
                pass
            case "NONE":
                push(None)
            case "NEWTRUE" | "NEWFALSE":
                push(instruction == "NEWTRUE")
            case "BININT1" | "BININT2" | "BININT" | "LONG1":
                push(argument)
            case "BINUNICODE":
                push(_short_text(argument))
            case "GLOBAL":
                push(_known_name(argument))
            case "BINPUT" | "LONG_BINPUT":
                self._memo[argument] = self.stack[-1]
            case "BINGET" | "LONG_BINGET":
                push(self._memo[argument])
            case "MARK":
                self._marks.append(len(self.stack))
            case "EMPTY_TUPLE":
                push(())
            case "EMPTY_LIST":
                push([])
            case "EMPTY_DICT":
                push({})
            case "TUPLE":
                push(tuple(self._since_mark()))
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                push(tuple(self._last(int(instruction[-1]))))
            case "APPEND" | "APPENDS":
                self._extend(self._last(1) if instruction == "APPEND" else self._since_mark())
            case "SETITEM" | "SETITEMS":
                self._set_items(self._last(2) if instruction == "SETITEM" else self._since_mark())
            case "REDUCE":
                push(_call(*self._last(2)))
            case "BUILD":
                pop()  # a state dict has its version numbers as an attribute; they are not needed here
                if type(self.stack[-1]) is not dict:
                    raise RefusedPickle(f"a state for the type {type(self.stack[-1]).__name__}")
            case "BINPERSID":
                push(_storage(pop()))
            case _:
                raise RefusedPickle(f"the instruction {instruction}")

    def _since_mark(self):
        return self._last(len(self.stack) - self._marks.pop())

    def _last(self, count):
        values = [self.stack.pop() for _ in range(count)]
        return values[::-1]

    def _extend(self, values):
        if type(self.stack[-1]) is not list:
            raise RefusedPickle("an entry for something that is not a list")
        self.stack[-1].extend(values)

    def _set_items(self, items):
        keys = items[::2]
        if type(self.stack[-1]) is not dict or not all(type(key) is str for key in keys):
            raise RefusedPickle("an entry for something that is not a dictionary of names")
        self.stack[-1].update(zip(keys, items[1::2], strict=True))


def _short_text(text):
    if len(text) > _LONGEST_TEXT:
        raise RefusedPickle(f"a text of {len(text)} characters")
    text.encode()  # raises an error for half a surrogate pair, which no report can hold
    return text


def _known_name(module_and_name):
    name = module_and_name.replace(" ", ".")
    if name not in _NAMES:
        raise RefusedPickle(shown(name).strip("'"))
    return _NAMES[name]


def _call(function, arguments):
    if type(function) is not FunctionType or type(arguments) is not tuple:
        raise RefusedPickle("a call of something that is not a function")
    return function(*arguments)


def _storage(persistent_id):
    # ("storage", class, key, device, count) and in old files a view, always None in a state dict
    match persistent_id:
        case ("storage", np.dtype() as dtype, str() as key, _, count, *view):
            if _is_number(count) and view in ([], [None]):
                return Storage(key, dtype, count)
    raise RefusedPickle("a persistent id that is not a storage")


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
    are_numbers = len(shape) <= _MOST_AXES and all(map(_is_number, (offset, *shape, *strides)))
    if not are_numbers or math.prod(size for size in shape if size) > _LARGEST_NUMBER:
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


def _rebuild_tensor(storage, offset, shape, strides, *_):
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
