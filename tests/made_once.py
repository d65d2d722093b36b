"""Files that take seconds to make are made once for all processes of the suite."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(tmp_path_factory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make(folder)` has filled: the first worker to ask makes it, the others wait.

    No test may change the files there; a test that has to change them works on a copy.

    Args:
      tmp_path_factory: pytest's.
      name: which folder; the same name must mean the same `make`.
      make: fills the folder, which exists and is empty.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # each worker has its own folder in it
    folder, done = root / "made_once" / name, root / "made_once" / f"{name}.done"
    folder.parent.mkdir(exist_ok=True)
    with open(folder.with_name(f"{name}.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of a `make` that failed
            folder.mkdir()
            make(folder)
            done.touch()
    return folder
