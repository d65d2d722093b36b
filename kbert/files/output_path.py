"""Where a tool may write: never over what it reads, and over what exists only when asked to.

Links, other spellings of a path and hard links are seen through: files are told apart by what the system
says of them, not by their names.
"""

import os
from collections.abc import Iterable
from pathlib import Path


def check_output_file(path: str | Path, inputs: Iterable[str | Path] = (), overwrite: bool = False):
    """Raises unless a tool may write the file `path`. To be asked before any work is done.

    Args:
      path: the file to write.
      inputs: the files and folders that the tool reads; paths that do not exist are passed over. In a
        folder among them nothing may be written, old or new: it would be another input the next time. So a
        run's folder that may take a report is not to be named, but the files that are read in it.
      overwrite: whether a file that exists may be replaced. It never allows writing over an input.

    Raises:
      ValueError: when `path` is a folder, one of the inputs, or lies in one of them.
      FileExistsError: when it exists and `overwrite` was not given.
    """
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"output file {path} is a directory; name a file in it.")
    _refuse_inputs("output file", path, inputs)
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(f"output file {path} exists; pass --overwrite to replace it, or another name.")


def check_output_folder(path: str | Path, inputs: Iterable[str | Path] = ()):
    """Raises unless a tool that reads `inputs` may make or replace the folder `path`.

    What may be replaced is for the tool to say: it knows what such a folder holds.

    Args:
      path: the folder to make.
      inputs: as for `check_output_file`.

    Raises:
      ValueError: when `path` is one of the inputs, lies in one of them or holds one.
    """
    path = Path(path)
    inputs = list(inputs)
    _refuse_inputs("output folder", path, inputs)
    own = _identity(path)
    if own is None:
        return
    for source in inputs:
        if own in _identities_above(source):
            raise ValueError(
                f"the input {source} lies in the output folder {path}, which is replaced as a whole; "
                "choose another folder."
            )


def _refuse_inputs(what, path, inputs):
    own, above = _identity(path), _identities_above(path)
    for source in inputs:
        identity = _identity(source)
        if identity is None:
            continue
        if identity == own:
            raise ValueError(
                f"{what} {path} is the input {source} itself, which would be lost; choose another name."
            )
        if identity in above:
            raise ValueError(
                f"{what} {path} lies in the input folder {source}, which would be another one the next "
                "time; choose a place outside it."
            )


def _identity(path):
    """What tells a file or folder from all others, however it is spelled; None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _identities_above(path):
    """The folders around a path, also around one that is not there yet, and around what a link leads to."""
    spelled = Path(os.path.abspath(path))
    folders = {*spelled.parents, *spelled.resolve().parents}
    return {_identity(folder) for folder in folders} - {None}
