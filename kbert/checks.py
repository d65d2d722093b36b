"""Checks that all configs use; each error is one sentence."""

import functools
import inspect
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from os import PathLike
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

from kbert.bounds import Bounds
from kbert.files.json_values import shown

SHORTEST_LENGTH = 4  # [CLS] a [SEP] [SEP]: a pair of which one token is left

# Kinds of numbers. The largest is beyond any practical use, and small enough that numbers computed from it do
# not overflow. A larger value is a mistake, or comes from a file made to overload a machine.
Width = Annotated[int, Bounds(above=0, largest=65_536)]
Length = Annotated[int, Bounds(SHORTEST_LENGTH, 2**20)]
Layers = Annotated[int, Bounds(0, 1000)]
BatchSize = Annotated[int, Bounds(above=0, largest=10**7)]
Steps = Annotated[int, Bounds(above=0, largest=10**12)]
Many = Annotated[int, Bounds(above=0, largest=10**9)]
Epochs = Annotated[float, Bounds(above=0, largest=1e6)]
Rate = Annotated[float, Bounds(0, below=1)]
Share = Annotated[float, Bounds(0, 1)]
Epsilon = Annotated[float, Bounds(above=0, largest=1)]
Seed = Annotated[int, Bounds(0, 2**32 - 1)]

_NUMBERS: dict[type, type] = {int: Integral, float: Real}  # NumPy's too
_NAMES = {str: "text", int: "whole number", float: "number", dict: "dict", Mapping: "dict"}
_Arguments = ParamSpec("_Arguments")
_Answer = TypeVar("_Answer")


def require(condition: bool, message: str):
    if not condition:
        raise ValueError(message)


def require_single(values: Mapping[str, object]):
    """Raises ValueError unless exactly one of the values, by their names for people, is there."""
    received = [name for name, value in values.items() if value]
    require(
        len(received) == 1,
        f"expected one of {', '.join(values)}; received {' and '.join(received) or 'none of them'}.",
    )


def check_values(settings, group: str = ""):
    """Refuses a value of a dataclass that is not as the annotation of its field says; None passes where that
    or the default is None. NumPy's numbers become Python's, which JSON and names of folders take.

    Args:
      settings: the dataclass, whose fields may be `Annotated` with `Bounds`, or a `Literal`.
      group: what stands before the names in messages, such as "optimizer.".
    """
    settings_class: Callable = type(settings)
    names = inspect.signature(settings_class).parameters
    for field in fields(settings):
        value = python_numbers(getattr(settings, field.name))
        object.__setattr__(settings, field.name, value)  # it may be frozen
    _check({name: getattr(settings, name, None) for name in names}, settings_class, group)


class CheckedSettings:
    """Dataclasses of settings whose values are checked when they are made, see `check_values`."""

    def __post_init__(self):
        check_values(self)


def python_numbers(value):
    """Numbers of NumPy as Python's, also in lists and dicts; arrays as tuples; others as they are."""
    if hasattr(value, "tolist") and not isinstance(value, type):
        listed = value.tolist()
        return tuple(listed) if isinstance(listed, list) else listed
    if type(value) is dict:
        return {python_numbers(name): python_numbers(inner) for name, inner in value.items()}
    return type(value)(map(python_numbers, value)) if type(value) in (list, tuple) else value


def with_checked_values(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """The function, which begins with its arguments: what is not as their annotations say is refused, as
    `check_values` does."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def checked(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Answer:
        try:
            bound = signature.bind(*arguments, **named).arguments
        except TypeError as error:
            known = ", ".join(name for name in signature.parameters if name != "self")
            raise TypeError(f"{function.__qualname__}() {error}; it takes {known}.") from None
        _check(bound, function)
        return function(*arguments, **named)

    return checked


def with_checked_arguments(function: Callable[_Arguments, _Answer]) -> Callable[_Arguments, _Answer]:
    """The same, in Python as by flags: `~/models`, a text or a path, alone, in a list or by its name, also
    lies in the home folder."""
    checked = with_checked_values(function)

    @functools.wraps(function)
    def at_home(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> _Answer:
        by_name = {name: with_home(value) for name, value in named.items()}
        return checked(*map(with_home, arguments), **by_name)

    return at_home


def with_home(value):
    """A value whose paths `~/models`, alone, in a list or in a dict, lie in the home folder."""
    if type(value) in (list, tuple):
        return type(value)(map(_path_with_home, value))
    if type(value) is dict:
        return {name: _path_with_home(path) for name, path in value.items()}
    return _path_with_home(value)


def _path_with_home(path):
    is_at_home = isinstance(path, str | PathLike) and str(path).startswith("~/")
    return type(path)(os.path.expanduser(path)) if is_at_home else path


def _check(values, declaration, group=""):
    values = {name: value for name, value in values.items() if value is not None or _needs(declaration, name)}
    for name, (choices, bounds, kind) in declared_values(declaration).items():
        if name not in values:
            continue
        value = values[name]
        setting = f"{group}{name}={shown(value)}"
        if choices and value not in choices:
            raise ValueError(f"{setting} is not known; choose one of {', '.join(choices)}.")
        if bounds and (isinstance(value, bool) or not isinstance(value, _NUMBERS[kind])):
            raise ValueError(f"{setting} must be a {'whole ' if kind is int else ''}number, {bounds}.")
        if bounds and not bounds.hold(value):
            raise ValueError(f"{setting} must be {bounds}.")
    for name in _groups(declaration):
        if name in values and values[name] is None:
            raise ValueError(f"{group}{name} must not be null; leave it out for its defaults.")
    for name in _paths(declaration):
        value = values.get(name)
        held = value if type(value) in (list, tuple) else [value]
        if any(isinstance(path, str) and not path for path in held):
            raise ValueError(f"{group}{name}={shown(value)} has an empty path; give one, or leave it out.")
    for name, hints in _typed(declaration).items():
        if name in values and not any(_fits(values[name], hint) for hint in hints):
            raise ValueError(f"{group}{name}={shown(values[name])} must be {_in_words(hints)}.")


@functools.cache
def _needs(declaration: Callable, name: str) -> bool:
    """Whether a parameter has an annotation and a default that have no place for None."""
    parameter = inspect.signature(declaration).parameters[name]
    is_said = parameter.annotation is not parameter.empty and parameter.default is not None
    return is_said and not _takes_none(parameter.annotation)


def _takes_none(hint) -> bool:
    if get_origin(hint) is Annotated:
        return _takes_none(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return any(map(_takes_none, get_args(hint)))
    return hint in (None, NoneType, Any, object)


@functools.cache
def _typed(declaration: Callable) -> dict[str, tuple]:
    """Parameter -> the types that it may have, of those whose annotation says nothing more."""
    typed = {}
    for name, parameter in inspect.signature(declaration).parameters.items():
        hints = _alternatives(parameter.annotation)
        are_data = _is_path(hints) and Mapping in hints  # whose readers say what is wrong
        is_said = parameter.annotation is not parameter.empty and name not in declared_values(declaration)
        if is_said and not are_data and name not in _groups(declaration):
            typed[name] = hints
    return typed


@functools.cache
def _groups(declaration: Callable) -> list[str]:
    """The parameters that are configs in a config, which may stand as JSON has them, until they are made."""
    parameters = inspect.signature(declaration).parameters if inspect.isclass(declaration) else {}
    hints = {name: _alternatives(parameter.annotation) for name, parameter in parameters.items()}
    return [name for name, kinds in hints.items() if any(map(is_dataclass, (*kinds, *map(_item, kinds))))]


@functools.cache
def _paths(declaration: Callable) -> list[str]:
    """The parameters that may be paths, or lists of them."""
    return [
        name
        for name, parameter in inspect.signature(declaration).parameters.items()
        if any(_is_path((hint, *_alternatives(_item(hint)))) for hint in _alternatives(parameter.annotation))
    ]


def _item(hint):
    """The type of the items of a list; None where it says none."""
    return next(iter(get_args(hint)), None)


def _alternatives(hint) -> tuple:
    """The types of a union but None, without what `Annotated` adds."""
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) not in (Union, UnionType):
        return (hint,)
    return tuple(kind for part in get_args(hint) for kind in _alternatives(part) if kind is not NoneType)


def _is_path(hints):
    return any(isinstance(hint, type) and issubclass(hint, PathLike) for hint in hints)


def _fits(value, hint) -> bool:
    """Whether a value is of a type. Objects of libraries may stand for any: truth values, paths, lists."""
    kind = get_origin(hint) or hint
    if type(value).__module__ != "builtins" or not isinstance(kind, type) or kind is Any:
        return kind not in (tuple, Sequence) or isinstance(value, Iterable)
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and not isinstance(value, bool)
    if fields := getattr(kind, "_fields", ()):  # a NamedTuple, which is made of any list
        return isinstance(value, tuple | list) and len(value) == len(fields)
    if kind not in (tuple, Sequence):
        return isinstance(value, kind)
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
        return False
    items = _alternatives(_item(hint))
    return items == (None,) or all(any(_fits(item, kind) for kind in items) for item in value)


def _in_words(hints) -> str:
    """What is expected, for a sentence."""
    if _is_path(hints):
        return "a path, as a text or a pathlib.Path"
    return " or ".join(map(_article_and_name, hints))


def _article_and_name(hint):
    kind = get_origin(hint) or hint
    if kind is bool:
        return "True or False"
    if kind in (tuple, Sequence) and _item(hint):
        items = _alternatives(_item(hint))
        return f"a list of {'path' if _is_path(items) else _name(items[0])}s"
    return f"a{'n' * (_name(kind)[0] in 'AEIOU')} {_name(kind)}"


def _name(kind):
    return _NAMES.get(kind) or getattr(kind, "__name__", str(kind))


@functools.cache
def declared_values(declaration: Callable) -> dict[str, tuple[tuple, Bounds | None, type]]:
    """Parameter, or field of a dataclass -> (what it may be, between which numbers, their type), of those
    that say either."""
    declared: dict[str, tuple[tuple, Bounds | None, type]] = {}
    for name, parameter in inspect.signature(declaration).parameters.items():
        hint = parameter.annotation
        for part in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
            if get_origin(part) is Literal:
                declared[name] = get_args(part), None, str
            elif get_origin(part) is Annotated and isinstance(part.__metadata__[0], Bounds):
                declared[name] = (), part.__metadata__[0], get_args(part)[0]
    return declared


def require_listed(texts, name: str):
    """Raises ValueError for a text alone where a list or a tensor of them is expected."""
    require(
        not isinstance(texts, str | bytes) and getattr(texts, "shape", None) != (),
        f"{name} is one text ({shown(texts)}); expected several in an order: put it into a list.",
    )


def require_order(values, name: str):
    """Raises ValueError for a set or a dict, whose order is not that of the ids."""
    require(
        not isinstance(values, set | frozenset | Mapping),
        f"{name} are a {type(values).__name__}, whose order says nothing; give a list in that of the ids.",
    )


def require_length(max_seq_length: int, vocabulary):
    """Raises ValueError for a length that leaves two texts no room beside a vocabulary's special tokens."""
    shortest = max(SHORTEST_LENGTH, vocabulary.count_special(2) + 1)
    require(
        max_seq_length >= shortest,
        f"max_seq_length={max_seq_length} is too short; it must be at least {shortest}.",
    )
