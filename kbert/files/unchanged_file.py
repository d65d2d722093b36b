"""A file whose parts are read at several times stays the same file, or is refused."""

import functools
from collections.abc import Callable
from pathlib import Path


def while_unchanged(path: Path) -> Callable[[Callable], Callable]:
    """A decorator for functions that read from a file as it is now.

    Args:
      path: the file. Its size and the time of its last change are kept.

    Returns:
      The decorator. The function that it makes raises ValueError when the file has changed or is gone, before
      the reading or during it: numbers of two files are never mixed.
    """
    first = _stamp(path)

    def require():
        if _stamp(path) != first:
            raise ValueError(f"{path} was changed while it was read; try again when it stays as it is.")

    def decorate(read):
        @functools.wraps(read)
        def checked(*arguments):
            require()
            value = read(*arguments)
            require()
            return value

        return checked

    return decorate


def _stamp(path):
    try:
        about = path.stat()
    except OSError:
        return None
    return about.st_size, about.st_mtime_ns
