"""Flags from a declaration: a function or a dataclass whose signature and docstring say all about them.

Its parameters are the flags. The annotation is the kind of value, the default the flag's, and what "Args:" of
the docstring says is what `--help` says, up to the words "In Python". A parameter without annotation, or of
another kind than those of `_define`, is no flag.
"""

import functools
import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from absl import flags

from kbert.bounds import NO_FLAG, Bounds

_ENTRY = re.compile(r"^  (\w+): (.*(?:\n    .*)*)", re.MULTILINE)
FUNCTIONS = "flags"  # the heading of all functions
headings: dict[str, str] = {}  # flag -> what it stands under in --help


class _NumberList(flags.ListParser):
    """Numbers separated by commas."""

    def __init__(self, kind):
        super().__init__()
        self._kind = kind

    def parse(self, argument):
        try:
            return [self._kind(value) for value in super().parse(argument)]
        except ValueError:
            example = "1,2,-1" if self._kind is int else "5e-5,3e-5"
            raise ValueError(f"expected numbers separated by commas, such as {example}") from None


class _NumberOrNone(flags.FloatParser):
    """A number; "none" is None, where that is another value than the default."""

    def parse(self, argument):
        return None if argument == "none" else super().parse(argument)


def declare_flags(
    declaration: Callable,
    *shared: Callable,
    called: Mapping[str, str] | None = None,
    repeated: Sequence[str] = (),
    defaults: Mapping[str, Any] | None = None,
    left_out: Collection[str] = (),
):
    """Defines a flag for each parameter of a declaration.

    Args:
      declaration: the function that the command calls, or a dataclass of settings.
      *shared: dataclasses of parameters that several commands have; what they say of theirs is said for all.
      called: parameter -> its flag, where the two differ: `from` is no name in Python.
      repeated: parameters whose flag is given once for each value.
      defaults: parameter -> the default of its flag, where Python has another one, or none.
      left_out: parameters that another declaration of the command has defined.
    """
    owners = {name: owner for owner in (declaration, *shared) for name in argument_words(owner)}
    names = flag_names(declaration, called)
    for name, parameter in flag_parameters(declaration).items():
        if name in left_out:
            continue
        default = (defaults or {}).get(name, parameter.default)
        owner = owners.get(name, declaration)
        headings[names[name]] = _heading(owner)
        words = _for_terminal(argument_words(owner).get(name, ""), names)
        _define(names[name], parameter.replace(default=default), words, name in repeated)


def define_list(name: str, default: list | None, words: str, kind: type = str):
    """A flag of values of one kind, separated by commas."""
    parser = flags.ListParser() if kind is str else _NumberList(kind)
    flags.DEFINE(parser, name, default, words, serializer=flags.CsvListSerializer(","))


def flag_names(declaration: Callable, called: Mapping[str, str] | None = None) -> dict[str, str]:
    """Parameter -> its flag."""
    return {name: (called or {}).get(name, name) for name in flag_parameters(declaration)}


def flag_values(declaration: Callable, called: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Parameter -> the value of its flag."""
    return {name: flags.FLAGS[flag].value for name, flag in flag_names(declaration, called).items()}


@functools.cache
def flag_parameters(declaration: Callable) -> dict[str, inspect.Parameter]:
    """The parameters that are flags, by name."""
    parameters = inspect.signature(declaration).parameters
    return {
        name: parameter
        for name, parameter in parameters.items()
        if parameter.kind != parameter.VAR_KEYWORD and _kinds(parameter)
    }


@functools.cache
def argument_words(declaration: Callable) -> dict[str, str]:
    """Parameter -> what the docstring says of it; an entry of several parameters says where else to look."""
    section = (inspect.getdoc(declaration) or "").partition("\nArgs:\n")[2]
    section = re.split(r"\n\n(?=\S)", section)[0]
    return {name: " ".join(text.split()) for name, text in _ENTRY.findall(section)}


def _for_terminal(text, names):
    """An entry of a docstring as `--help` shows it: parameters as flags, without what only Python has."""
    text = text.partition(" In Python")[0]
    known = {name: name for name in flags.FLAGS} | names
    return re.sub(r"`(\w+)`", lambda word: f"--{known[word[1]]}" if word[1] in known else word[0], text)


def _heading(declaration):
    """The name of a dataclass as words; all functions have the same."""
    if not inspect.isclass(declaration):
        return FUNCTIONS
    return re.sub(r"(?<!^)(?=[A-Z])", " ", declaration.__name__).lower()


def _kinds(parameter):
    """The kinds of value that an annotation names: (type, its bounds) each; [] where no flag has such."""
    annotation = parameter.annotation
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    pairs = [get_args(part) if get_origin(part) is Annotated else (part, Bounds()) for part in parts]
    return [(kind, bounds) for kind, bounds in pairs if _is_kind(kind) and bounds is not NO_FLAG]


def _is_kind(kind):
    return kind in (str, bool, int, float) or get_origin(kind) in (Literal, Sequence)


def _define(name, parameter, words, is_repeated):
    kind, bounds = _kinds(parameter)[0]
    is_required = parameter.default is inspect.Parameter.empty
    default = None if is_required else parameter.default
    if words.partition(":")[0] not in get_args(kind):  # a sentence, not a value
        words = words[:1].upper() + words[1:]
    limits = {"lower_bound": bounds.least, "upper_bound": bounds.largest}
    if is_repeated:
        flags.DEFINE_multi_string(name, default and list(default), words)
    elif get_origin(kind) is Literal:
        flags.DEFINE_enum(name, default, get_args(kind), words)
    elif get_origin(kind) is Sequence:
        values = None if default is None else list(default)
        define_list(name, values, words, *get_args(kind))
    elif kind is bool:
        flags.DEFINE_bool(name, default, words)
    elif kind is int:
        flags.DEFINE_integer(name, default, words, **limits)
    elif kind is float and default is not None and type(None) in get_args(parameter.annotation):
        flags.DEFINE(_NumberOrNone(**limits), name, default, words)
    elif kind is float:
        flags.DEFINE_float(name, default, words, **limits)
    else:
        flags.DEFINE_string(name, default, words)
    if is_required:
        flags.mark_flag_as_required(name)
