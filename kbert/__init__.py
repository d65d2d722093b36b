"""kbert: the whole life of BERT in TensorFlow and Keras 3.

`import kbert` imports neither TensorFlow nor Keras. The module of a public name is imported when that name is
first used. docs/api.md shows the public names in use. TensorFlow starts quietly, as for the command `kbert`:
with TF_CPP_MIN_LOG_LEVEL=0 in the environment it says everything.
"""

import ast
import importlib
import sys
from pathlib import Path

__version__ = "0.1.0"

# The public names -> their modules, as __init__.pyi has them for editors and type checkers.
_PUBLIC = {
    alias.name: statement.module
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(statement, ast.ImportFrom)
    for alias in statement.names
}
__all__ = [*_PUBLIC, "__version__"]


def __getattr__(name):
    if name not in _PUBLIC:
        raise AttributeError(f"module 'kbert' has no attribute {name!r}; its names are {', '.join(_PUBLIC)}.")
    if "tensorflow" not in sys.modules:  # whoever imported it before has chosen how much it says
        importlib.import_module("kbert.cli.quiet_tensorflow")
    value = getattr(importlib.import_module(_PUBLIC[name]), name)
    globals()[name] = value  # found directly from now on
    return value


def __dir__():
    return sorted({*globals(), *_PUBLIC})
