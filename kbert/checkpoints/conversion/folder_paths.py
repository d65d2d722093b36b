"""Paths that a checkpoint's files name: they stay in the checkpoint's folder."""

from pathlib import Path, PurePosixPath, PureWindowsPath

from kbert.files.json_values import shown

_LONGEST_NAME = 255  # bytes; of most file systems


def path_inside(folder: Path, name: str, named_by: Path, kind: str) -> Path:
    """The place that `name` stands for, below `folder`.

    Args:
      folder: the checkpoint's folder.
      name: a relative path as it stands in a file; "" is the folder itself.
      named_by: that file, for the sentence of an error.
      kind: "file" or "folder", for the same.

    Returns:
      The path, whether or not something is there. A file may be a link to elsewhere, as all are in the hub's
      cache; a folder may not.

    Raises:
      ValueError: for a path that leaves the folder.
    """
    parts = PurePosixPath(name).parts
    lexically = not PurePosixPath(name).is_absolute() and ".." not in parts
    # A backslash or a drive would be one only elsewhere, and a checkpoint is the same everywhere.
    portable = name.isprintable() and "\\" not in name and not PureWindowsPath(name).drive
    short = all(len(part.encode("utf-8", "replace")) <= _LONGEST_NAME for part in parts)
    if lexically and portable and short:
        path = folder.joinpath(*parts)
        inside = path if path.is_dir() else path.parent
        if inside.resolve().is_relative_to(folder.resolve()):
            return path
    raise ValueError(
        f"{named_by} names the {kind} {shown(name)}, which is not in its own folder; take the whole model."
    )
