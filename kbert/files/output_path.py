"""Checks where a tool may write: never over its input, and over existing files only when asked to.

Links, hard links and other spellings of the same path are recognized: files are compared by device and inode,
not by name.
"""

import os
import re
from collections.abc import Callable, Collection, Iterable
from pathlib import Path, PurePosixPath

from kbert.files.json_values import shown
from kbert.files.whole_file import remove_leftovers, try_to_rename

_LONGEST_NAME = 230  # bytes: 255 less what `whole_file` appends while it writes
_REMOTE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+")  # pathlib leaves one / of two; C:/ is a disk


def is_remote(path: str | os.PathLike | None) -> bool:
    """Whether a path is an address, such as gs://bucket/records, also as pathlib writes it."""
    return _REMOTE.match(str(path)) is not None


def require_local(path: str | os.PathLike | None):
    """Raises ValueError for an output such as gs://bucket/run, which would become a folder called `gs:`."""
    if remote := _REMOTE.match(str(path)):
        raise ValueError(
            f"{remote[1]}://{str(path)[remote.end() :]} is no path of this machine, and kbert writes nowhere "
            "else; give a local path, and copy what is written."
        )


def check_output_file(path: str | Path, inputs: Iterable[str | Path] = (), overwrite: bool = False):
    """Raises an error unless a tool may write the file `path`. Call it before any work is done.

    Args:
      path: the file to write.
      inputs: the files and folders that the tool reads, or that are read where they are there. Nothing may be
        written into an input folder: the next run would read it as input. If a report may be written into a
        run's folder, name the files that are read there, not the folder.
      overwrite: whether a file that exists may be replaced. It never allows writing over an input.

    Raises:
      ValueError: when `path` is a folder, a device or a pipe, one of the inputs, or lies in one of them, or
        has a name of more than 230 bytes; as `require_local`.
      FileExistsError: when it exists and `overwrite` was not given.
      PermissionError: when nothing can be written into its folder, or nothing be renamed there.
    """
    require_local(path)
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"output file {path} is a directory; name a file in it.")
    if path.exists() and not path.is_file():
        raise ValueError(f"output file {path} is a device or a pipe, which no file may replace; name a file.")
    _refuse_inputs("output file", path, inputs)
    if os.path.lexists(path) and not overwrite:
        raise FileExistsError(
            f"output file {path} exists; choose another name, or replace it with overwrite (--overwrite)."
        )
    _require_writable(path, is_folder=False)


def require_parent_folder(output_file: str | Path, made: Iterable[str | Path] = ()):
    """Raises ValueError unless the folder of `output_file` is there. Call it before any work is done.

    Args:
      output_file: the file to write.
      made: folders that the tool makes before it writes the file.
    """
    folder = Path(output_file).absolute().parent
    if not folder.is_dir() and not any(Path(path).absolute().is_relative_to(folder) for path in made):
        raise ValueError(f"output_file={output_file}: its folder does not exist; make it first.")


def check_output_folder(path: str | Path, inputs: Iterable[str | Path] = ()):
    """Raises an error unless a tool that reads `inputs` may create or replace the folder `path`.

    Whether an existing folder may be replaced is for `require_free_folder`: the tool knows what its own hold.
    One that a killed process had moved away, and not replaced, stands at its place again.

    Args:
      path: the folder to make.
      inputs: as for `check_output_file`.

    Raises:
      ValueError: when `path` is one of the inputs, lies in one of them or holds one; or cannot be replaced,
        or has a name of more than 230 bytes; as `require_local`.
      PermissionError: when it cannot be made, or no folder be renamed there.
    """
    require_local(path)
    path = Path(path)
    _require_replaceable(path)
    inputs = list(inputs)
    _refuse_inputs("output folder", path, inputs)
    _require_writable(_led_to(path), is_folder=True)  # a link stays, and its folder is written
    if not path.exists():
        remove_leftovers(_led_to(path))  # a killed process may have moved the folder away
    own = identity(path)
    if own is None:
        return
    for source in inputs:
        if own in _identities_above(source):
            raise ValueError(
                f"the input {source} lies in the output folder {path}, which is replaced as a whole; "
                "choose another folder."
            )


def require_free_folder(path: Path, overwrite: bool, others: Callable[[Path], list[str]], what: str):
    """Raises ValueError unless the folder `path` is new or empty, or may be replaced.

    Args:
      path: the folder to make.
      overwrite: whether it may be replaced if all of its files are the tool's.
      others: function from an existing folder to the files that are not, such as `other_files`.
      what: what the tool makes, such as "a conversion".
    """
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not overwrite:
        problem = "not empty" if path.is_dir() else "a file"
        raise ValueError(
            f"{path} exists and is {problem}; choose a new folder, or replace {what} there with overwrite "
            "(--overwrite)."
        )
    if foreign := others(path) if path.is_dir() else [path.name]:
        raise ValueError(
            f"{path} holds what is not {what}, such as {shown(foreign[:3])}, and overwrite replaces nothing "
            "else; choose a new folder, or move these files."
        )


def names_in(folder: str | Path) -> set[str]:
    """What lies in a folder, but for what every new volume of ext4 holds."""
    return {path.name for path in Path(folder).iterdir()} - {"lost+found"}


def other_files(folder: str | Path, own: Collection[str]) -> list[str]:
    """Which files below a folder are none of its tool's: replacing the folder would delete them.

    Args:
      folder: an existing folder.
      own: the tool's files, as paths in the folder with `/`; their names may be globs.
    """
    folder, patterns = Path(folder), [PurePosixPath(name) for name in own]
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    return sorted(
        file.as_posix()
        for file in files
        if not any(file.parent == Path(name.parent) and file.match(name.name) for name in patterns)
    )


def _require_replaceable(path):
    """A finished folder is renamed to its path, which neither a mount point nor a working folder survives."""
    own = identity(path)
    target = _led_to(path)
    if own is None and target.exists():
        raise ValueError(f"{path} leads through a folder that does not exist; give {target}.")
    if target.is_symlink():
        raise ValueError(f"{path} is a link to itself; remove it, or choose another folder.")
    if os.path.ismount(target):
        raise ValueError(f"{path} is a mount point, which cannot be renamed; give a folder inside it.")
    try:
        here = Path.cwd()
    except FileNotFoundError:  # somebody has deleted it
        return
    if own is not None and own in (identity(here), *_identities_above(here)):
        raise ValueError(
            f"{path} is the folder that you are in, or lies above it, and would be replaced as a whole; give "
            "a folder inside it."
        )


def _require_writable(path, is_folder):
    if (length := len(os.fsencode(path.name))) > _LONGEST_NAME:
        raise ValueError(
            f"{path} cannot be written: its name has {length} bytes; give one of at most {_LONGEST_NAME}."
        )
    own = path.absolute()
    new = next(part for part in (own, *own.parents) if os.path.lexists(part.parent))
    if not new.parent.is_dir():
        raise ValueError(f"{path} cannot be written: {new.parent} is no folder; choose another folder.")
    try:
        try_to_rename(new.with_name("kbert"), is_folder)
    except OSError as error:
        raise PermissionError(
            f"{path} cannot be written in {new.parent}: {error.strerror}; choose another folder, or fix its "
            "rights."
        ) from None


def _refuse_inputs(what, path, inputs):
    own, above = identity(path), _identities_above(path)
    for source in inputs:
        source_identity = identity(source)
        if source_identity is None:
            if _led_to(source) == _led_to(path):
                raise ValueError(
                    f"{what} {path} has the name of a file that is read there; choose another name."
                )
            continue
        if source_identity == own:
            raise ValueError(
                f"{what} {path} is the input {source} itself, which would be lost; choose another name."
            )
        if source_identity in above:
            raise ValueError(
                f"{what} {path} lies in the input folder {source}, so the next run would read it as input; "
                "choose a folder outside it."
            )


def _led_to(path):
    """The path without links; pathlib's raises an error for one that leads to itself."""
    return Path(os.path.realpath(path))


def identity(path: str | Path) -> tuple[int, int] | None:
    """(device, inode) of a file or folder, the same for all its paths; None if it does not exist."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def each_once(files: Iterable[Path]) -> list[Path]:
    """The files in their order; one with several names (links) by the first of them."""
    first_names: dict = {}
    for file in files:
        first_names.setdefault(identity(file), file)
    return list(first_names.values())


def _identities_above(path):
    """The identities of all folders above a path, which need not exist, and above the target of a link."""
    spelled = Path(os.path.abspath(path))
    folders = {*spelled.parents, *_led_to(spelled).parents}
    return {identity(folder) for folder in folders} - {None}
