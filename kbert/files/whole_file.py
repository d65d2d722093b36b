"""Files and folders that are whole or absent, never half: written aside, then renamed.

What a killed process left aside is removed by the next one that writes in the same place: whoever is
writing holds a lock on what it writes, and the lock goes with the process.
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
    """Yields a path to write to, beside `path`, whose place it takes when the block ends well.

    Raises:
      OSError: when it cannot be written. What was at `path` before is untouched then.
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
    """Yields a new folder to fill, beside `path`, whose place it takes when the block ends well.

    Folders above `path` are made, and removed again when the block fails.

    Args:
      path: where the folder shall be. Nothing, or an empty folder, may be there.
      replace: whether it may be a folder with content, which then goes away at the end.

    Raises:
      OSError: when it cannot be written, or `path` is taken. What was at `path` before is untouched then.
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
    """Gives a finished folder the name `path`; a folder that has it now goes away, last of all."""
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
    """Writes JSON that people read as well: indented, every script as it is."""
    write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", path)


def _aside(path):
    return path.with_name(f"{path.name}.{os.getpid()}.tmp")


@contextmanager
def _locked(path, make=None):
    """Holds the lock of a file or folder, which `make` makes first."""
    while True:
        if make:
            make()
        descriptor = _open(path)
        try_lock(descriptor)
        if _is_the_file_of(descriptor, path):
            break
        os.close(descriptor)  # taken for abandoned by another process, before there was a lock
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
    """Removes what processes that are no more had begun to write in the place of `path`.

    A folder that was about to be replaced, with nothing in its place, gets its name back.
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
