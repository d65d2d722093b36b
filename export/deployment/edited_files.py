"""Files that a program writes again and again, until a person edits one: then it is left alone."""

import hashlib
from pathlib import Path

from kbert.files.whole_file import write_text

_MARK = "# Written by kbert. Edit it as you like: an edited file is never overwritten. "


def write_unless_edited(path: Path, body: str) -> bool:
    """Writes a text file whose comments begin with "#", unless a person has edited what is there.

    The first line holds a digest of the rest, by which an edit is known.

    Args:
      path: the file.
      body: its lines.

    Returns:
      Whether it was written. If not, what would have been written is in `<path>.new`.
    """
    edited = is_edited(path)
    write_text(_MARK + _digest(body) + "\n" + body, path.with_name(f"{path.name}.new") if edited else path)
    return not edited


def is_edited(path: Path) -> bool:
    """Whether there is a file that is not as `write_unless_edited` left it."""
    if not path.exists():
        return False
    first, _, body = path.read_text(encoding="utf-8", errors="replace").partition("\n")
    return first != _MARK + _digest(body)


def _digest(body):
    return hashlib.sha256(body.encode("utf-8")).hexdigest()[:16]
