"""A full disk, found by Python or TensorFlow: one OSError that names what could not be written."""

import errno
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_CODES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # full, full for this user, too large for the file system


def full_disk_code(error: BaseException) -> int | None:
    """The error number, if Python or TensorFlow raised `error` because a disk is full; None otherwise."""
    if isinstance(error, shutil.Error):  # of many files: the text has what each of them met
        return _code_in(str(error))
    if isinstance(error, OSError):
        return error.errno if error.errno in _CODES else None
    tensorflow = sys.modules.get("tensorflow")
    if tensorflow is None or not isinstance(error, tensorflow.errors.OpError):
        return None
    return _code_in(str(error.message))


def _code_in(text):
    return next((code for code in _CODES if os.strerror(code) in text), None)


@contextmanager
def naming_full_disk(path: str | Path, aside: str | Path | None = None) -> Iterator[None]:
    """Inside, a full disk becomes an OSError that names `path`.

    Args:
      path: what is written, as the user knows it.
      aside: the temporary name of it; an error that names a file outside of it stays as it is.
    """
    try:
        yield
    except Exception as error:
        code = full_disk_code(error)
        if code is None or _names_another(error, Path(aside or path)):
            raise
        raise OSError(code, os.strerror(code), str(path)) from error


def _names_another(error, own):
    name = getattr(error, "filename", None)
    return isinstance(name, str) and not Path(name).is_relative_to(own)


def full_disk_sentence(error: BaseException) -> str | None:
    """What a user reads when a disk is full: what could not be written and what to do. None otherwise."""
    code = full_disk_code(error)
    if code is None:
        return None
    import tempfile

    name = getattr(error, "filename", None)
    where = "there" if name else f"where it writes and in {tempfile.gettempdir()}"
    what = f"{name or 'a file'} could not be written: {os.strerror(code)}"
    return f"{what}; free some space {where}, or write elsewhere."
