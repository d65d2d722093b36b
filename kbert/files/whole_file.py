"""Files and folders that are complete or absent: written under a temporary name, then renamed.

A process that writes holds a lock on its temporary file, and the lock ends with the process. So the next
process that writes to the same path can recognize and remove what a killed process left behind. Temporary
names are random and always new: in a folder that others may write to, a link of that name would lead
elsewhere. What is whole and cannot be renamed stays as `.new`, until the same path is written.
"""

import errno
import json
import os
import re
import secrets
import shutil
import stat
from contextlib import contextmanager, suppress
from pathlib import Path

from kbert.files.folder_lock import try_lock
from kbert.files.full_disk import naming_full_disk

_TEMPORARY = r"(\.old)?\.\d+\.[0-9a-f]{8}\.(tmp|new)"  # what follows the final name: process, random number


@contextmanager
def whole_file(path: str | Path):
    """Yields a temporary path beside `path`; it is renamed to `path` when the block ends without an error.

    A link is replaced, and the file that it leads to stays: a copy of a run may be made of links to it.

    Raises:
      OSError: when the file cannot be written. What was at `path` before is then unchanged. Where only the
        renaming fails, the error names the file that was written.
    """
    path = Path(path)
    earlier = remove_leftovers(path)
    with _locked_aside(path, is_folder=False) as aside:
        try:
            yield aside
        except BaseException:
            aside.unlink(missing_ok=True)
            raise
        with _kept(aside, path, earlier):
            _replace_file(aside, path)


@contextmanager
def whole_folder(path: str | Path, replace: bool = False):
    """Yields a temporary folder beside `path`; it is renamed to `path` when the block ends without an error.

    A link stays, and the folder that it leads to is made. Folders above `path` are created, and removed again
    when the block fails.

    Args:
      path: the folder's final path. It must not exist, or be an empty folder, unless `replace` is set.
      replace: whether `path` may be a folder with content, which is deleted at the end.

    Raises:
      OSError: when the folder cannot be written, or `path` is in use. What was at `path` before is then
        unchanged. Where only the renaming fails, the error names the folder that was written.
    """
    path = Path(path).resolve()
    with made_folder(path.parent):
        earlier = remove_leftovers(path)
        with _locked_aside(path, is_folder=True) as aside:
            try:
                yield aside
            except BaseException:
                shutil.rmtree(aside, ignore_errors=True)
                raise
            with _kept(aside, path, earlier):
                if replace:
                    replace_folder(aside, path)
                else:
                    aside.rename(path)


def try_to_rename(path: Path, is_folder: bool):
    """Makes a tiny file or folder beside `path`, renames it, as all that is finished is, and removes it.

    Call it before heavy work: some mounts of object stores rename no folders, or nothing at all.

    Raises:
      OSError: when that fails.
    """
    remove_leftovers(path)
    with _locked_aside(path, is_folder) as aside:
        try:
            (aside / "file" if is_folder else aside).write_text("tiny", encoding="utf-8")
            try:
                aside = aside.rename(_temporary(path))
            except OSError as error:
                what = (
                    "folder is renamed (gcsfuse needs --rename-dir-limit)" if is_folder else "file is renamed"
                )
                raise OSError(error.errno, f"{error.strerror}, when a {what}") from None
        finally:
            shutil.rmtree(aside, ignore_errors=True) if is_folder else aside.unlink(missing_ok=True)


@contextmanager
def made_folder(path: Path):
    """Makes a folder and those above it; where the block fails, those are removed again that were not there
    before and are empty."""
    made = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in made:
            _remove_if_empty(folder)
        raise


def replace_folder(finished: Path, path: Path):
    """Renames a finished folder to `path`. A folder that was there before is deleted as the last step."""
    remove_leftovers(path)
    if not path.exists():
        finished.rename(path)
        return
    previous = _temporary(path, ".old")
    descriptor = _open(path)
    try:
        try_lock(descriptor)  # so that nobody takes the old folder for abandoned
        move_folder(path, previous)
        try:
            finished.rename(path)
        except OSError:
            previous.rename(path)
            raise
        shutil.rmtree(previous, ignore_errors=True)
    finally:
        os.close(descriptor)


def move_folder(path: Path, target: Path):
    """Renames a folder to a new path beside it; one that came with a container's image is copied and deleted.

    Source: the kernel's overlayfs.rst, "renaming directories".
    """
    try:
        path.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copytree(path, target, symlinks=True)
        shutil.rmtree(path)


def remove_leftovers(path: Path) -> list[Path]:
    """Removes the temporary files and folders for `path` of processes that have ended.

    If such a process had moved the old folder away but put nothing in its place, the old folder is moved
    back.

    Returns:
      What is whole, and could not be renamed to the final path.
    """
    pattern, whole = re.compile(re.escape(path.name) + _TEMPORARY), []
    for left in list(path.parent.iterdir()) if path.parent.is_dir() else ():
        match = pattern.fullmatch(left.name)
        if match and match[2] == "new":
            whole.append(left)
        elif match:
            _remove_if_abandoned(left, path if match[1] else None)
    return whole


def write_text(text: str, path: str | Path):
    """Writes a UTF-8 text file with Unix line ends, whatever the system."""
    with whole_file(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")


def with_escapes(text: str) -> str:
    """A text that names files: Python makes halves of surrogate pairs of a name that is not UTF-8, and these
    become the escapes of JSON."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def write_json(values, path: str | Path):
    """Writes JSON that people can read: indented, with non-ASCII characters as they are.

    Raises:
      ValueError: for NaN and infinity, which JSON does not have; see `json_ready`.
    """
    text = json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False)
    write_text(with_escapes(text) + "\n", path)


def final_name(path: str) -> str:
    """The path that a path gets, or that lies in a folder that gets it, once it is complete."""
    return re.sub(_TEMPORARY, "", path)


def is_temporary(name: str) -> bool:
    """Whether a name is one of those that files and folders have while they are written."""
    return re.fullmatch(".+" + _TEMPORARY, name) is not None


def _temporary(path, mark=""):
    return path.with_name(f"{path.name}{mark}.{os.getpid()}.{secrets.token_hex(4)}.tmp")


@contextmanager
def _locked_aside(path, is_folder):
    """Makes a new file or folder beside `path`, yields its temporary name and holds its lock.

    Another process may take it for abandoned before it is locked, and remove it. Then there is a next one.
    """
    while True:
        aside = _temporary(path)
        with naming_full_disk(path, aside):
            aside.mkdir() if is_folder else aside.touch(exist_ok=False)
        try:
            descriptor = _open(aside)
        except FileNotFoundError:
            continue
        if try_lock(descriptor) is not False and _is_same_file(descriptor, aside):
            break
        os.close(descriptor)
    try:
        _take_rights(aside, path)
        with naming_full_disk(path, aside):
            yield aside
    finally:
        os.close(descriptor)


def _take_rights(aside, path):
    """Gives what is new the rights, group and owner of what it replaces, as far as this process may.

    A link's are not taken: its target stays. The writer may write in any case.
    """
    if path.is_symlink() or not path.exists():
        return
    before = path.stat()
    own = aside.stat()
    mode = stat.S_IMODE(before.st_mode) | own.st_mode & stat.S_IRWXU
    if before.st_gid != own.st_gid:
        try:
            os.chown(aside, -1, before.st_gid)
        except OSError:
            mode &= ~stat.S_IRWXG  # which were not this group's
    with suppress(OSError):
        aside.chmod(mode)
    with suppress(OSError):
        os.chown(aside, before.st_uid, -1)


def _replace_file(finished, path):
    try:
        finished.replace(path)
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise
        shutil.copyfile(finished, path)  # it is mounted by itself, as `docker run -v FILE:FILE` does
        finished.unlink()


@contextmanager
def _kept(finished, path, earlier):
    """Where the block cannot rename what is finished, this stays, until the path is written; then what stayed
    `earlier` goes."""
    try:
        yield
    except OSError as error:
        if not finished.exists():
            raise
        with suppress(OSError):
            finished = finished.rename(finished.with_suffix(".new"))
        reason = f"{error.strerror or error}, so what was written lies in {finished}"
        raise OSError(error.errno, reason, str(path)) from error
    for left in earlier:
        _remove_if_abandoned(left, None)


def _open(path):
    return os.open(path, os.O_NOFOLLOW | (os.O_RDONLY if path.is_dir() else os.O_RDWR))


def _is_same_file(descriptor, path):
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _remove_if_abandoned(left, old_of):
    try:
        descriptor = _open(left)
    except OSError:  # a link, a file of another user, or gone
        return
    try:
        if try_lock(descriptor) is not True:
            return
        if old_of is not None and not old_of.exists():
            left.rename(old_of)
        elif left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)
    finally:
        os.close(descriptor)


def _remove_if_empty(folder):
    try:
        folder.rmdir()
    except OSError:  # not empty: others have written there in the meantime
        pass
