"""Modules that load when something of them is first asked for. Standard library only.

A command checks its flags and files before it loads TensorFlow and NumPy, which takes seconds. The modules of
a package whose `__init__` says

    __getattr__ = late_modules(__name__)

come late: `from kbert.inference import loading`, at the top of a file, costs nothing, and the file of
`loading` runs with the first `loading.load(...)`. `from kbert.inference.loading import load` runs it at once.
"""

import importlib
import importlib.util
from collections.abc import Callable


class LateModule:
    """Stands for a module: whatever is read, set or deleted is the module's, which is imported for it."""

    __slots__ = ("_late_name",)  # so that `__dict__`, too, is the module's

    def __init__(self, name):
        object.__setattr__(self, "_late_name", name)

    def __getattr__(self, name):
        return getattr(importlib.import_module(self._late_name), name)

    def __setattr__(self, name, value):
        setattr(importlib.import_module(self._late_name), name, value)

    def __delattr__(self, name):
        delattr(importlib.import_module(self._late_name), name)

    def __repr__(self):
        return f"<module {self._late_name!r}, loaded when it is used>"


def late_modules(package: str) -> Callable[[str], LateModule]:
    """The `__getattr__` of a package (PEP 562): name of a module -> that module, not yet loaded.

    Once a module is loaded, the package has it as an attribute and this function is not asked.

    Raises:
      AttributeError: by the function, for a name that is no module of the package.
    """

    def late_module(name):
        if name.startswith("_") or importlib.util.find_spec(f"{package}.{name}") is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return LateModule(f"{package}.{name}")

    return late_module
