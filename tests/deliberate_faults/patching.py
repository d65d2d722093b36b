"""A fault as a patch of a function: where the function is, and what is appended to its file.

A fault names a function, a method or a constant of a module (`shared_rows`, `SegmentPacker.__call__`,
`PADDING_ADDER`), wherever it is, and an expression that takes the original and gives the faulty one. So it
does not notice when code moves; where two files define the name, `within` is a part of the path of one.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

PRODUCT = ("kbert", "tfrecords_tools", "export")

# What an expression may name beside what the file itself imports.
_MODULES = {
    "np": "import numpy as np",
    "tf": "import tensorflow as tf",
    "ops": "from keras import ops",
    "dataclasses": "import dataclasses",
}
_APPLY = """

def _with_fault(owner, name, patch):
    import functools
    there = vars(owner)[name]
    if isinstance(there, (staticmethod, classmethod)):
        there = type(there)(patch(there.__func__))
    elif isinstance(there, property):
        there = property(patch(there.fget))
    elif isinstance(there, functools.cached_property):
        there = functools.cached_property(patch(there.func))
        there.__set_name__(owner, name)
    else:
        there = patch(there)
    setattr(owner, name, there)

"""


class Fault(NamedTuple):
    """One slip.

    Fields:
      name: what went wrong, for the table and `--only`.
      target: the function's, method's or constant's qualified name.
      patch: source of an expression: the original -> the faulty one.
      tests: files or single tests, one of which must fail.
      within: a part of the path of the file, where several define the name.
    """

    name: str
    target: str
    patch: str
    tests: tuple[str, ...]
    within: str = ""


def files_of(faults, repository: Path) -> dict[str, str]:
    """Name of a fault -> the file that defines what it patches.

    Raises:
      ValueError: with a line for each fault whose function or test is not there, or stands in several files.
    """
    defined, found, wrong = _definitions(repository), {}, []
    for fault in faults:
        files = [file for file in defined.get(fault.target, ()) if fault.within in file]
        found[fault.name] = files[0] if files else ""
        if len(files) != 1:
            wrong.append(
                f"{fault.name}: {fault.target} is defined in {len(files)} files with {fault.within!r} in "
                f"their path, expected one: {files}. Name what took its place, or give `within`."
            )
        missing = [test for test in fault.tests if not (repository / test.partition("::")[0]).exists()]
        wrong += [f"{fault.name}: there is no {test}." for test in missing]
    if wrong or len(found) < len(faults):
        raise ValueError("\n".join(wrong) or "two faults have the same name.")
    return found


def _definitions(repository):
    """Qualified name -> the files of the product that define it."""
    found: dict[str, list[str]] = {}
    for path in (file for folder in PRODUCT for file in sorted((repository / folder).rglob("*.py"))):
        for name in set(_names(ast.parse(path.read_text(encoding="utf-8")).body)):
            found.setdefault(name, []).append(path.relative_to(repository).as_posix())
    return found


def _names(body, within=""):
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield within + node.name
        elif isinstance(node, ast.ClassDef):
            yield from _names(node.body, f"{within}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = (name for target in targets for name in ast.walk(target))
            yield from (within + name.id for name in names if isinstance(name, ast.Name))


def appended(fault: Fault) -> str:
    """What makes a file faulty when it stands at its end."""
    ast.parse(fault.patch, mode="eval")
    imports = [line for name, line in _MODULES.items() if re.search(rf"\b{name}\.", fault.patch)]
    owner, _, name = fault.target.rpartition(".")
    owner = owner or "__import__('sys').modules[__name__]"
    return "\n".join(["", *imports, _APPLY, f"_with_fault({owner}, {name!r}, {fault.patch})", ""])
