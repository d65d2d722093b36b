"""Folders and globs: each folder below is read once, however many links lead to it. Standard library only."""

import os
import re
from collections.abc import Callable, Iterator
from glob import escape, glob
from pathlib import Path

from kbert.files.output_path import identity

_STARS = re.compile(r"((?:.*?/)?)\*\*(?:/+(.*))?", re.DOTALL)


def matches(pattern: str) -> list[Path]:
    """What a glob matches, as `glob.glob(pattern, recursive=True)`, which goes round with a link to a folder
    above it until the system refuses, and with two of them for ever. The first folders are taken by their
    names where they are there: `runs[1]/*.tsv`."""
    named = pattern
    while named and not os.path.exists(named):
        named = os.path.dirname(named)
    pattern = escape(named) + pattern[len(named) :]
    stars = _STARS.fullmatch(pattern)
    if stars is None:
        return list(map(Path, glob(pattern)))
    head, tail = stars.groups()
    paths: dict[Path, None] = {}
    for folder in (parent for top in glob(head or ".") for parent, _ in folders_below(top)):
        inside = matches(os.path.join(escape(folder), "*" if tail is None else tail))
        paths |= dict.fromkeys(inside if tail is not None else [Path(folder), *inside])
    return list(paths)


def folders_below(top: str | Path, onerror: Callable | None = None) -> Iterator[tuple[str, list[str]]]:
    """Yields (folder, names of its files) for a folder and those below it, but for names that begin with a
    dot.

    Args:
      top: the folder.
      onerror: called with the OSError of a folder that cannot be listed.
    """
    folders_read = {identity(top)}
    for parent, folders, names in os.walk(top, onerror=onerror, followlinks=True):
        below = {name: identity(Path(parent, name)) for name in sorted(folders) if not name.startswith(".")}
        folders.clear()
        for name, own in below.items():
            if own not in folders_read:
                folders.append(name)
                folders_read.add(own)
        yield parent, [name for name in names if not name.startswith(".")]
