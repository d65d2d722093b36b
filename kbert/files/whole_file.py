"""Files and folders that are complete or absent: written under a temporary name, then renamed.

A process that writes holds a lock on its temporary file, and the lock ends with the process. So the next
process that writes to the same path can recognize and remove what a killed process left behind.
"""

import json
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

from kbert.files.folder_lock import try_lock


@contextmanager
def whole_file(path: str | Path):
    """Yields a temporary path beside `path`; it is renamed to `path` when the block ends without an error.

    Raises:
      OSError: when the file cannot be written. What was at `path` before is then unchanged.
    """
    path = Path(path)
    aside = _aside(path)
    _remove_leftovers(path)
    try:
        with _locked(aside, lambda: aside.touch()):
            yield aside
            aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: str | Path, replace: bool = False):
    """Yields a temporary folder beside `path`; it is renamed to `path` when the block ends without an error.

    Folders above `path` are created, and removed again when the block fails.

    Args:
      path: the folder's final path. It must not exist, or be an empty folder, unless `replace` is set.
      replace: whether `path` may be a folder with content, which is deleted at the end.

    Raises:
      OSError: when the folder cannot be written, or `path` is in use. What was at `path` before is then
        unchanged.
    """
    path = Path(path)
    aside = _aside(path)
    made = [parent for parent in (path.parent, *path.parent.parents) if not parent.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(path)
        shutil.rmtree(aside, ignore_errors=True)
        with _locked(aside, lambda: aside.mkdir(exist_ok=True)):
            yield aside
            if replace:
                replace_folder(aside, path)
            else:
                aside.rename(path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        for parent in made:
            _remove_if_empty(parent)
        raise


def replace_folder(finished: Path, path: Path):
    """Renames a finished folder to `path`. A folder that was there before is deleted as the last step."""
    if not path.exists():
        finished.rename(path)
        return
    previous = path.with_name(f"{path.name}.old.{os.getpid()}.tmp")
    with _locked(path):
        path.rename(previous)
        try:
            finished.rename(path)
        except OSError:
            previous.rename(path)
            raise
        shutil.rmtree(previous, ignore_errors=True)


def write_text(text: str, path: str | Path):
    """Writes a UTF-8 text file with Unix line ends, whatever the system."""
    with whole_file(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")


def write_json(values, path: str | Path):
    """Writes JSON that people can read: indented, with non-ASCII characters as they are."""
    write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", path)


def _aside(path):
    return path.with_name(f"{path.name}.{os.getpid()}.tmp")


@contextmanager
def _locked(path, make=None):
    """Holds the lock of a file or folder. `make` creates it first."""
    while True:
        if make:
            make()
        descriptor = _open(path)
        try_lock(descriptor)
        if _is_the_file_of(descriptor, path):
            break
        os.close(descriptor)  # another process removed it as abandoned, before it was locked
    try:
        yield
    finally:
        os.close(descriptor)


def _open(path):
    return os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)


def _is_the_file_of(descriptor, path):
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _remove_leftovers(path):
    """Removes the temporary files and folders for `path` of processes that have ended.

    If such a process had moved the old folder away but put nothing in its place, the old folder is moved
    back.
    """
    pattern = re.compile(re.escape(path.name) + r"(\.old)?\.(\d+)\.tmp")
    for left in list(path.parent.iterdir()) if path.parent.is_dir() else ():
        match = pattern.fullmatch(left.name)
        if not match or int(match[2]) == os.getpid() or not _is_abandoned(left):
            continue
        if match[1] and not path.exists():
            left.rename(path)
        elif left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _is_abandoned(left):
    try:
        descriptor = _open(left)
    except OSError:
        return False
    try:
        return try_lock(descriptor) is True
    finally:
        os.close(descriptor)


def _remove_if_empty(folder):
    try:
        folder.rmdir()
    except OSError:  # not empty: others have written there in the meantime
        pass
