"""Reading a pickle without running it: its instructions one by one, as data.

A pickle is a program: it names functions, calls them, and sets the state of the objects that they return.
Here a name can mean only what a table says, and instructions that a list of tensors does not need are
refused. The number of instructions and bytes is limited. Objects are never hashed, compared or printed as a
whole, because a small pickle can describe a huge object by repeating its parts.

Source: Python's pickletools, which describes every instruction.
"""

import pickletools
from collections import OrderedDict
from collections.abc import Callable

from kbert.files.json_values import shown

# A tensor takes about 40 instructions and 200 bytes: room for 25,000 of them.
_MOST_INSTRUCTIONS = 1_000_000
_MOST_BYTES = 1 << 25
# Hashing and comparing a value takes as long as the value is, and one value may be a key again and again.
_MOST_CHARACTERS = 1000
_MOST_BITS = 1000


class RefusedPickle(Exception):
    """The pickle holds something that is not allowed, or asks for too much work."""


class PickleReader:
    """The stack, the marks and the memo that a pickle's instructions work on.

    Args:
      names: "module name" -> what it stands for.
      callables: the functions among them that may be called; each one checks its own arguments.
      persistent: function from a persistent id to what it stands for.
    """

    def __init__(self, names: dict[str, object], callables: tuple[Callable, ...], persistent: Callable):
        self._names, self._callables, self._persistent = names, callables, persistent
        self._stack, self._marks, self._memo = [], [], {}
        self._work = 0

    def read(self, file):
        """The object that a pickle describes. Afterwards the file stands just after the pickle.

        Raises:
          RefusedPickle: for an instruction, name or object that is not allowed, and for too much work. A
            broken pickle may raise any exception.
        """
        for code, argument, _ in pickletools.genops(_Limited(file)):  # type: ignore[arg-type]  # it reads no more
            self._spend(1)
            if code.name == "STOP":
                return self._stack.pop()
            if code.name in _VALUES:
                self._stack.append(_short(argument))
            elif code.name in _EMPTY:
                self._stack.append(_EMPTY[code.name]())
            elif code.name in _ACTIONS:
                _ACTIONS[code.name](self, argument)
            elif code.name not in _WITHOUT_MEANING:
                raise RefusedPickle(f"the instruction {code.name}")

    def _spend(self, work):
        self._work += work
        if self._work > _MOST_INSTRUCTIONS:
            raise RefusedPickle(f"more than {_MOST_INSTRUCTIONS} instructions")

    def _since_mark(self):
        start = self._marks.pop()
        values, self._stack[start:] = self._stack[start:], []
        return values

    def _last(self, count):
        values = [self._stack.pop() for _ in range(count)]
        return values[::-1]

    def _set_mark(self, _):
        self._marks.append(len(self._stack))

    def _pop(self, _):
        self._stack.pop()

    def _pop_mark(self, _):
        self._since_mark()

    def _put(self, key):
        self._memo[len(self._memo) if key is None else key] = self._stack[-1]

    def _get(self, key):
        self._stack.append(self._memo[key])

    def _tuple(self, _):
        self._stack.append(tuple(self._since_mark()))

    def _tuple_of_1(self, _):
        self._stack.append(tuple(self._last(1)))

    def _tuple_of_2(self, _):
        self._stack.append(tuple(self._last(2)))

    def _tuple_of_3(self, _):
        self._stack.append(tuple(self._last(3)))

    def _list(self, _):
        self._stack.append(self._since_mark())

    def _append(self, _):
        self._extend(self._last(1))

    def _appends(self, _):
        self._extend(self._since_mark())

    def _extend(self, values):
        if type(self._stack[-1]) is not list:
            raise RefusedPickle("an entry for something that is not a list")
        self._stack[-1].extend(values)

    def _dict(self, _):
        items = self._since_mark()
        self._stack.append({})
        set_items(self._stack[-1], items)

    def _set_item(self, _):
        items = self._last(2)
        set_items(self._stack[-1], items)

    def _set_items(self, _):
        items = self._since_mark()
        set_items(self._stack[-1], items)

    def _name(self, name):
        if name not in self._names:
            raise RefusedPickle(shown(name.replace(" ", ".", 1)).strip("'"))
        self._stack.append(self._names[name])

    def _stack_name(self, _):
        module, name = self._last(2)
        if type(module) is not str or type(name) is not str:
            raise RefusedPickle("a name that is not a text")
        self._name(f"{module} {name}")

    def _call(self, _):
        function, arguments = self._last(2)
        if not any(function is known for known in self._callables) or type(arguments) is not tuple:
            raise RefusedPickle("a call of something that is not a function")
        self._spend(sum(len(value) for value in arguments if type(value) in (list, tuple)))
        self._stack.append(function(*arguments))

    def _build(self, _):
        """A state dict has its version numbers as an attribute; they are not needed here."""
        thing, _ = self._last(2)
        if type(thing) is not OrderedDict:
            raise RefusedPickle(f"a state for the type {type(thing).__name__}")
        self._stack.append(thing)

    def _persistent_id(self, _):
        self._stack.append(self._persistent(self._stack.pop()))


def set_items(dictionary, items):
    """Puts keys and values, which alternate in `items`, into a dictionary that this reader created."""
    keys = items[::2]
    if type(dictionary) not in (dict, OrderedDict):
        raise RefusedPickle("an entry for something that is not a dictionary")
    if len(items) % 2 or not all(type(key) in (str, int) for key in keys):
        raise RefusedPickle("a dictionary with keys that are not names")
    dictionary.update(zip(keys, items[1::2], strict=True))


def _short(value):
    """A plain value, unless it is longer than names and sizes are."""
    if type(value) is int and value.bit_length() > _MOST_BITS:
        raise RefusedPickle(f"a number of {value.bit_length()} bits")
    if type(value) in (str, bytes) and len(value) > _MOST_CHARACTERS:
        raise RefusedPickle(f"a text of {len(value)} characters")
    return value


class _Limited:
    """A file of which only a limited number of bytes can be read: a pickle may claim any length."""

    def __init__(self, file):
        self._file, self._left = file, _MOST_BYTES

    def read(self, size):
        if size > self._left:
            raise RefusedPickle(f"more than {_MOST_BYTES} bytes outside the tensors")
        self._left -= size
        return self._file.read(size)

    def readline(self):
        line = self._file.readline(self._left + 1)
        if len(line) > self._left:
            raise RefusedPickle(f"more than {_MOST_BYTES} bytes outside the tensors")
        self._left -= len(line)
        return line


_WITHOUT_MEANING = ("PROTO", "FRAME")
# Instructions that carry a plain value.
_VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT UNICODE BINUNICODE SHORT_BINUNICODE "
    "BINUNICODE8 STRING BINSTRING SHORT_BINSTRING BINBYTES SHORT_BINBYTES BINBYTES8".split()
)
_EMPTY: dict[str, Callable] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
_ACTIONS: dict[str, Callable] = {
    "MARK": PickleReader._set_mark,
    "POP": PickleReader._pop,
    "POP_MARK": PickleReader._pop_mark,
    "PUT": PickleReader._put,
    "BINPUT": PickleReader._put,
    "LONG_BINPUT": PickleReader._put,
    "MEMOIZE": PickleReader._put,
    "GET": PickleReader._get,
    "BINGET": PickleReader._get,
    "LONG_BINGET": PickleReader._get,
    "TUPLE": PickleReader._tuple,
    "TUPLE1": PickleReader._tuple_of_1,
    "TUPLE2": PickleReader._tuple_of_2,
    "TUPLE3": PickleReader._tuple_of_3,
    "LIST": PickleReader._list,
    "APPEND": PickleReader._append,
    "APPENDS": PickleReader._appends,
    "DICT": PickleReader._dict,
    "SETITEM": PickleReader._set_item,
    "SETITEMS": PickleReader._set_items,
    "GLOBAL": PickleReader._name,
    "STACK_GLOBAL": PickleReader._stack_name,
    "REDUCE": PickleReader._call,
    "BUILD": PickleReader._build,
    "BINPERSID": PickleReader._persistent_id,
}
