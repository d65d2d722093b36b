"""The version folders under a base path."""

import pathlib

_MAX_VERSION = 2**63 - 1  # versions are int64 in requests


def versions(base_path: pathlib.Path) -> dict[int, pathlib.Path]:
    """Returns version -> folder. Other names are ignored, also numbers that no request can carry."""
    found = {}
    for folder in base_path.glob("*"):
        name = folder.name
        if name.isdecimal() and name.isascii() and len(name) <= 19 and int(name) <= _MAX_VERSION:
            if folder.is_dir():
                found[int(name)] = folder
    return found


def contents(folder: pathlib.Path) -> frozenset:
    """Returns names, sizes and times of all files: what changes while a folder is copied."""
    found = set()
    for file in folder.rglob("*"):
        try:
            stat = file.stat()
        except FileNotFoundError:  # gone since it was listed
            continue
        found.add((str(file), stat.st_size, stat.st_mtime_ns))
    return frozenset(found)


def check_base_path(base_path: pathlib.Path) -> None:
    """Raises ValueError where nothing could ever be served, and says what was found instead."""
    if not base_path.is_dir():
        raise ValueError(
            f"model_base_path={base_path} is not a folder; expected a folder that holds one "
            "folder per version, for example served/sst2 with served/sst2/1/saved_model.pb."
        )
    if (base_path / "saved_model.pb").exists():
        raise ValueError(
            f"model_base_path={base_path} is itself a SavedModel; expected the folder above it, "
            f"which holds one numbered folder per version. Pass {base_path.parent}."
        )
    if not versions(base_path):
        found = ", ".join(sorted(entry.name for entry in base_path.iterdir())) or "nothing"
        raise ValueError(
            f"model_base_path={base_path} holds no version; found {found}, expected a folder "
            "named by an integer, for example 1. Export a model there first."
        )
