"""Whether a folder is a run: the file that says so."""

import os
from pathlib import Path

RUN_FILE = "run.json"
# What a run holds beside its vocabulary; reports, such as its page, can be made again.
RUN_FILES = (
    *("config.json", RUN_FILE, "metrics.jsonl", "result.json", "chosen.json"),
    *("checkpoints", "base"),
)


def holds_run(path) -> bool:
    """Whether there is a run in a folder, whole or broken."""
    return (Path(os.path.expanduser(path)) / RUN_FILE).is_file()
