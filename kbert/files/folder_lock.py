"""A lock that lets one process at a time work in a folder. It ends with its process, even a killed one."""

import errno
import fcntl
import os
import socket
from pathlib import Path

LOCK_FILE = ".lock"
# Errors of file systems without locks: some network file systems, some mounts of object stores.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF)


def try_lock(descriptor: int) -> bool | None:
    """Locks an open file or folder until it is closed.

    Returns:
      True when it is locked now, False when another process holds it, None where the file system has no
      locks, or one that shuts out this process too.

    Source: flock(2). The lock belongs to the open file, so forked workers keep it as long as they live.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):  # the second on SMB
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    if _shuts_out_all(descriptor):
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        return None
    return True


def _shuts_out_all(descriptor):
    """Whether the lock of a file hinders this process where it opens the file again, as SMB's do.

    Source: flock(2), "CIFS details".
    """
    try:
        with open(f"/dev/fd/{descriptor}", "rb", buffering=0) as again:
            again.read(1)
    except PermissionError:
        return True
    except OSError:  # it is a folder
        pass
    return False


def lock_folder(folder: str | Path):
    """Locks a folder, so that only this process works in it.

    Args:
      folder: an existing folder; the file `.lock` is created in it and names this process.

    Returns:
      The open lock file. The lock is released when the file is closed or the process ends. Use it in `with`.

    Raises:
      BlockingIOError: when another process holds the lock; the message says which.
      ValueError: when the lock file is a link: its target would be written over.
    """
    path = Path(folder) / LOCK_FILE
    if path.is_symlink():
        raise ValueError(f"{path} is a link, expected a file of this folder; delete the link.")
    file = open(path, "ab+", buffering=0, opener=_open_no_link)  # what a full disk refuses stays in no buffer
    try:
        locked = try_lock(file.fileno())
        if locked is False:
            holder = lock_holder(folder)
            is_linked = os.fstat(file.fileno()).st_nlink > 1
            copied = f" In a copy made of hard links (cp -al), delete {path}." if is_linked else ""
            raise BlockingIOError(
                f"another process{f' ({holder})' if holder else ''} is working in {folder}; wait for it or "
                f"stop it, or choose another folder.{copied}"
            )
        if locked is None:
            _warn("the file system of %s has no locks: make sure that no other process works there.", folder)
        else:
            _name_holder(file)
    except BaseException:
        file.close()
        raise
    return file


def lock_holder(folder: str | Path) -> str | None:
    """The process that the lock file of a folder names; None without a whole name.

    There is none where the file system has no locks, where the disk was full, or after `rm`; nor can it be
    read where the lock shuts out all.
    """
    try:
        name = (Path(folder) / LOCK_FILE).read_text("utf-8", "replace")
    except OSError:
        return None
    return name.strip() if name.endswith("\n") else None


def _open_no_link(path, mode):
    return os.open(path, mode | os.O_NOFOLLOW, 0o666)


def _name_holder(file):
    """Writes this process's name into the lock file. On a full disk the lock holds without a name."""
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n".encode())
    except OSError as error:
        _warn("%s could not be written (%s)", file.name, error.strerror)


def _warn(message, *values):
    # Imported late: who reads a vocabulary and a LiteRT file needs no absl.
    from absl import logging

    logging.warning(message, *values)
