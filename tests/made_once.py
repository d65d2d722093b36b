"""What takes seconds to make is made once for all processes of the suite."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path


def made_once(tmp_path_factory, name: str, make: Callable[[Path], object]) -> Path:
    """The folder that `make(folder)` has filled: the first worker to ask makes it, the others wait.

    Nobody may change what lies there; a test that must takes a copy.

    Args:
      tmp_path_factory: pytest's.
      name: which folder; the same name must mean the same `make`.
      make: fills the folder, which is there and empty.
    """
    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent  # each worker has a folder of its own therein
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
