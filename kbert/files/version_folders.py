"""The versions of an exported model: folders with numbers, as TensorFlow Serving reads them."""

from pathlib import Path

GRAPH_FILE = "saved_model.pb"  # of a SavedModel
LAST_VERSION = 2**63 - 1


def version_number(folder: Path) -> int | None:
    """The version that a folder's name says to TensorFlow Serving, an int64; None where it says none."""
    is_number = folder.name.isascii() and folder.name.isdecimal()
    return int(folder.name) if is_number and int(folder.name) <= LAST_VERSION else None


def version_folder(path: Path) -> Path | None:
    """The folder of a SavedModel: `path` or the newest version in it. None for anything else."""
    if (path / GRAPH_FILE).is_file():
        return path
    numbered = ((version_number(file.parent), file.parent) for file in path.glob(f"*/{GRAPH_FILE}"))
    versions = {number: folder for number, folder in numbered if number is not None}
    return versions[max(versions)] if versions else None
