"""Imports go down only, also those inside functions; and the few that functions may hold."""

import ast
from collections import Counter
from pathlib import Path

# From top to bottom; packages and modules of a line do not import each other. The longest name decides.
LAYERS = (
    ("kbert.scripts", "export", "tfrecords_tools", "kbert.__main__"),
    ("kbert.quickstart", "kbert.scripts.training_flags"),
    ("kbert.experiments",),
    ("kbert.training", "kbert.distillation", "kbert.inference", "kbert.reports", "kbert.cli"),
    ("kbert.checkpoints",),
    ("kbert.runs",),
    ("kbert.tasks",),
    ("kbert.input_pipelines",),
    ("kbert.encoder",),
    ("kbert.heads", "kbert.tokenization"),
    ("kbert.layers",),
    ("kbert.kernels", "kbert.manifest", "kbert.cli.flags"),
    ("kbert.config", "kbert.features", "kbert.cli.declared_flags", "kbert.cli.quiet_tensorflow"),
    ("kbert.checks", "kbert.full_float32", "kbert.full_memory", "kbert.cli.commands"),
    ("kbert.files", "kbert.shipped_configs", "kbert.cli.progress", "kbert.cli.signals"),
    (
        *("kbert", "kbert.bounds", "kbert.cores", "kbert.extras", "kbert.forked", "kbert.late_tensorflow"),
        *("kbert.cli.shares", "kbert.cli.warn_once"),
    ),
    ("kbert.late_modules",),
)
UP = {
    # A method that calls the function of its name.
    ("kbert.inference.loaded_model", "kbert.experiments.evaluation"),
}
_LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}
_FILES = {
    ".".join(path.with_suffix("").parts).removesuffix(".__init__"): path
    for root in ("kbert", "tfrecords_tools", "export")
    for path in sorted(Path(root).rglob("*.py"))
}


def test_imports_go_down_only():
    wrong = [
        f"{module} imports {imported}"
        for module in _FILES
        for imported, _ in _imports(module)
        if _owner(module) != _owner(imported)
        and _LEVELS[_owner(module)] >= _LEVELS[_owner(imported)]
        and (module, imported) not in UP
    ]
    assert not wrong, "\n".join(wrong)


def test_functions_import_little():
    """A package that gives its modules late (kbert.late_modules) needs no import inside a function."""
    held = Counter(module for module in _FILES for _, inside in _imports(module) if inside)
    assert held.total() <= 2, held


def _imports(module):
    """Own modules that a module imports, and whether a function does so."""
    tree = ast.parse(_FILES[module].read_text(encoding="utf-8"))
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for inner in ast.walk(node):
            inner.inside = True
    for node in (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)):
        for name in dict.fromkeys(_names(node, module)):
            if name in _FILES:
                yield name, hasattr(node, "inside")


def _names(node, module):
    """What an import statement names, as the modules that are loaded for it."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    package = module.split(".") if _FILES[module].name == "__init__.py" else module.split(".")[:-1]
    start = package[: len(package) - node.level + 1] if node.level else []
    base = ".".join([*start, *filter(None, [node.module])])
    inner = (f"{base}.{alias.name}" for alias in node.names)
    return [name if name in _FILES else base for name in inner]


def _owner(module):
    """The longest entry of LAYERS that the module lies in; the root is for `import kbert` alone."""
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next(name for name in names if name in _LEVELS and (name != "kbert" or module == "kbert"))
