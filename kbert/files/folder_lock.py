"""One process to a folder: a lock that ends with its process, however that ends."""

import errno
import fcntl
import os
import socket
from pathlib import Path

from absl import logging

LOCK_FILE = ".lock"
# What file systems without locks answer: some network file systems, some mounts of object stores.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EBADF)


def try_lock(descriptor: int) -> bool | None:
    """Locks an open file or folder until it is closed.

    Returns:
      True when it is locked now, False when another process holds it, None where the file system has no
      locks.

    Source: flock(2). The lock belongs to the open file, so forked workers keep it as long as they live.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        raise
    return True


def lock_folder(folder: str | Path):
    """Takes a folder for this process alone.

    Args:
      folder: an existing folder; the file `.lock` is made in it, and says who holds it.

    Returns:
      The open lock file: the lock is gone when it is closed or the process ends. Use it in `with`.

    Raises:
      BlockingIOError: when another process holds the folder; the sentence says which.
    """
    path = Path(folder) / LOCK_FILE
    file = open(path, "a+", encoding="utf-8")
    try:
        locked = try_lock(file.fileno())
        if locked is False:
            raise BlockingIOError(
                f"another process{_holder(file)} is working in {folder}; wait for it or "
                "stop it, or choose another folder."
            )
        if locked is None:
            logging.warning(
                "the file system of %s has no locks: take care that no other process works there.", folder
            )
        _name_holder(file)
    except BaseException:
        file.close()
        raise
    return file


def _holder(file):
    file.seek(0)
    name = file.read(200).strip()
    return f" ({name})" if name else ""


def _name_holder(file):
    """Who holds the lock is there to be read; a full disk is no reason to do without the lock."""
    try:
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
    except OSError as error:
        logging.warning("%s could not be written (%s)", file.name, error.strerror)
