"""Files that are whole or absent, never half: written aside, then renamed."""

import json
import os
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole_file(path: str | Path):
    """Yields a path to write to, beside `path`, whose place it takes when the block ends well."""
    path = Path(path)
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        yield aside
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)


def write_text(text: str, path: str | Path):
    """Writes a UTF-8 text file with Unix line ends, whatever the system."""
    with whole_file(path) as aside:
        aside.write_text(text, encoding="utf-8", newline="\n")


def write_json(values, path: str | Path):
    """Writes JSON that people read as well: indented, every script as it is."""
    write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", path)
