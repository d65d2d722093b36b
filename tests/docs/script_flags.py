"""The flags of a script, as absl has them: scripts define theirs without TensorFlow."""

import functools
import importlib
from pathlib import Path

from absl import flags

from tests.places import REPOSITORY

OF_EVERY_SCRIPT = ("help", "helpfull", "verbosity", "flagfile")  # absl's
_SEARCHED = ("kbert", "tfrecords_tools", "export", "benchmarks")


def script_file(module: str) -> Path | None:
    """The file of a module that `python -m` runs; None when there is no such script."""
    path = REPOSITORY / (module.replace(".", "/") + ".py")
    is_ours = module.partition(".")[0] in _SEARCHED and path.is_file()
    return path if is_ours and "__main__" in path.read_text(encoding="utf-8") else None


@functools.cache
def flags_of(module: str) -> dict[str, flags.Flag]:
    """Name -> flag, of a script's `define_flags`."""
    define = getattr(importlib.import_module(module), "define_flags", lambda: None)
    others = set(flags.FLAGS)
    try:
        define()
        return {name: flags.FLAGS[name] for name in set(flags.FLAGS) - others}
    finally:
        flags.FLAGS.remove_flag_values(set(flags.FLAGS) - others)


def is_required(flag: flags.Flag) -> bool:
    return any("other than None" in one.message for one in flag.validators)


@functools.cache
def all_flags() -> set[str]:
    """The names of all flags of all scripts."""
    files = [path for folder in _SEARCHED for path in sorted((REPOSITORY / folder).rglob("*.py"))]
    modules = [".".join(path.relative_to(REPOSITORY).with_suffix("").parts) for path in files]
    return {name for module in modules if script_file(module) for name in flags_of(module)}.union(
        OF_EVERY_SCRIPT
    )
