"""Which model a path may mean that holds none: a name nearly like it, the folder around it, or those inside.

Standard library only, and no network.
"""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from kbert.files.json_values import first_few
from kbert.files.near_names import near_names

_SHOWN = 3
_MOST_FOLDERS = 1000  # that are looked at


def models_like(path, known: Iterable[str] = (), scheme: str = "") -> str:
    """A question at the end of a sentence about a path or name that does not exist; empty without near names.

    Args:
      path: what was given; folders beside it may be meant.
      known: names of models that may be meant as well, without the scheme.
      scheme: how the name begins, such as "hf://"; empty for a path.
    """
    name = str(path).removeprefix(scheme).rstrip("/")
    parent = Path(name).parent
    beside = (
        []
        if scheme
        else [str(parent / near) for near in near_names(Path(name).name, _folders(parent), _SHOWN)]
    )
    near = dict.fromkeys([*beside, *(scheme + near for near in near_names(name, known, _SHOWN))])
    return f" Did you mean {' or '.join([*near][:_SHOWN])}?" if near else ""


def models_around(path: Path, holds_model: Callable[[Path], bool]) -> str:
    """A sentence about the model around a file, or the models inside a folder; empty if there are none."""
    if path.is_file():
        return (
            f" It is a file of the model {path.parent}: give that folder." if holds_model(path.parent) else ""
        )
    inside = [str(path / name) for name in sorted(_folders(path)) if holds_model(path / name)]
    return f" It holds the models {first_few(inside, _SHOWN)}: give one of them." if inside else ""


def _folders(path) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return [entry.name for entry in entries if entry.is_dir()][:_MOST_FOLDERS]
    except OSError:
        return []
