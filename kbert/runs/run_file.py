"""Whether a folder is a run: the file that says so."""

import os
from pathlib import Path

RUN_FILE = "run.json"


def holds_run(path) -> bool:
    """Whether there is a run in a folder, whole or broken."""
    return (Path(os.path.expanduser(path)) / RUN_FILE).is_file()
