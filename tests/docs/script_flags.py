"""The flags of a script, read from its source without importing it: milliseconds instead of TensorFlow."""

import ast
import functools
from pathlib import Path
from typing import NamedTuple

from tests.docs.markdown import REPOSITORY

_SEARCHED = ("kbert", "tfrecords_tools", "export", "benchmarks")
# What absl gives to every script.
_OF_EVERY_SCRIPT = ("help", "helpfull", "verbosity")


class ScriptFlag(NamedTuple):
    """Fields: kind, such as `string` or `bool`; choices of an enum, or None; whether it must be given."""

    kind: str
    choices: tuple[str, ...] | None
    required: bool


def script_file(module: str) -> Path | None:
    """The file of a module that `python -m` runs; None when there is no such script."""
    path = REPOSITORY / (module.replace(".", "/") + ".py")
    is_ours = module.partition(".")[0] in _SEARCHED and path.is_file()
    return path if is_ours and "__main__" in path.read_text(encoding="utf-8") else None


@functools.cache
def flags_of(module: str) -> dict[str, ScriptFlag]:
    """Name -> flag, of `define_flags` and of every function that it calls."""
    found: dict[str, ScriptFlag] = {name: ScriptFlag("string", None, False) for name in _OF_EVERY_SCRIPT}
    required: set[str] = set()
    _collect(module, "define_flags", found, required)
    return {name: flag._replace(required=flag.required or name in required) for name, flag in found.items()}


@functools.cache
def all_flags() -> set[str]:
    """The names of all flags of all scripts."""
    files = [path for folder in _SEARCHED for path in sorted((REPOSITORY / folder).rglob("*.py"))]
    modules = [".".join(path.relative_to(REPOSITORY).with_suffix("").parts) for path in files]
    return {name for module in modules if script_file(module) for name in flags_of(module)}


def _collect(module, function, found, required):
    """Adds what a function defines."""
    functions, imported = _definitions(module)
    if function not in functions:
        return  # a script without flags of its own
    variables = _variables(functions[function])
    for call in (node for node in ast.walk(functions[function]) if isinstance(node, ast.Call)):
        name = _name(call.func)
        if name.startswith("DEFINE_"):
            found |= dict.fromkeys(_texts(call.args[0], variables), _flag(call))
        elif name.startswith("mark_flag"):
            required |= set(_texts(call.args[0], variables))
        elif name in functions and name != function:
            _collect(module, name, found, required)
        elif name in imported:
            _collect(*imported[name], found, required)


def _flag(call):
    is_required = any(word.arg == "required" and _literal(word.value) is True for word in call.keywords)
    kind = _name(call.func).removeprefix("DEFINE_")
    choices = _literal(call.args[2]) if kind in ("enum", "multi_enum") else None
    return ScriptFlag(kind, tuple(choices) if choices else None, is_required)


def _variables(function):
    """Name -> the texts that it stands for, in loops over literals."""
    found = {}
    for loop in (node for node in ast.walk(function) if isinstance(node, ast.For)):
        first = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
        texts = [value if isinstance(value, str) else value[0] for value in _literal(loop.iter) or ()]
        found.setdefault(first.id, []).extend(texts)  # of two loops with one variable: both
    return found


def _texts(node, variables):
    """The texts that a literal, a list of them, or a variable may be."""
    if isinstance(node, ast.Name):
        return variables[node.id]
    value = _literal(node)
    return [value] if isinstance(value, str) else list(value)


@functools.cache
def _definitions(module):
    """A module's functions, and what it imports from ours as name -> (module, name there)."""
    tree = ast.parse((REPOSITORY / (module.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in _SEARCHED
        for alias in node.names
        if alias.name.startswith("define_")
    }
    return functions, imported


def _name(function):
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _literal(node):
    """The value of a literal; None for what is computed."""
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None
