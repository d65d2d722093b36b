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


def require_no_config(path, config):
    """Raises ValueError for a fine-tuning config, or None, of how files are read, beside a run."""
    if config is not None and holds_run(path):
        raise ValueError(
            f"config is for checkpoints of other libraries; the run {path} records it. Leave it out."
        )
