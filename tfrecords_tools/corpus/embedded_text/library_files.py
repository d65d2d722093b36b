"""The files of CPython that hold prose: found, and read as text; modules are never imported."""

import ast
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

# Tests repeat one another; lib2to3, encodings and pydoc_data hold grammars and tables, not prose.
_SKIPPED_FOLDERS = frozenset(
    {"test", "tests", "idle_test", "lib2to3", "encodings", "pydoc_data", "__pycache__"}
)


def standard_library_folder() -> Path:
    """The folder that holds the running Python's standard library."""
    return Path(sysconfig.get_path("stdlib"))


def check_library(library: Path) -> None:
    """Makes sure that `library` has what this module reads, before any work is done.

    Raises:
      ValueError: names everything that is missing, and how to mend it.
    """
    missing = []
    if not (library / "pydoc_data" / "topics.py").is_file():
        missing.append("pydoc_data/topics.py (the text behind help())")
    if not any(True for _ in module_files(library)):
        missing.append("the .py sources of the standard library (os.py, email/message.py, ...)")
    if missing:
        raise ValueError(
            f"The Python in {library} lacks {' and '.join(missing)}. The embedded text is read "
            "from CPython's own files, which some distributions strip or keep in a zip file. Use a "
            "full CPython (python.org, pyenv, conda, or the complete python3 of a distribution), "
            "or bring a corpus of your own: one sentence a line, a blank line between documents."
        )


def module_files(library: Path) -> Iterator[tuple[str, Path]]:
    """Yields `(dotted module name, file)` of the library's modules, sorted by path."""
    paths = []
    for folder, subfolders, names in os.walk(library):
        # Pruned on the way down: the test suite alone is larger than all the rest.
        subfolders[:] = [name for name in subfolders if _is_library_folder(name)]
        paths += [Path(folder, name) for name in names if name.endswith(".py")]
    for path in sorted(paths):
        parts = path.relative_to(library).with_suffix("").parts
        # Stray scripts that some machines keep in the same folder are not part of CPython.
        if parts[0] in sys.stdlib_module_names:
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _is_library_folder(name: str) -> bool:
    return name.isidentifier() and name not in _SKIPPED_FOLDERS


def read_topics(library: Path) -> dict[str, str]:
    """Reads the help topics, a dictionary literal, without importing the module."""
    tree = ast.parse((library / "pydoc_data" / "topics.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            return ast.literal_eval(node.value)
    raise ValueError(
        f"{library / 'pydoc_data' / 'topics.py'} has no dictionary of topics at its top level; "
        "expected `topics = {...}` as CPython 3.11 to 3.13 have it. Use one of those versions."
    )
