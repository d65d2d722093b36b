"""Paths that the files of a folder name: they must stay in this folder."""

from pathlib import Path, PurePosixPath, PureWindowsPath

from kbert.files.json_values import shown

_LONGEST_NAME = 255  # bytes; of most file systems


def path_inside(folder: Path, name: str, named_by: Path, kind: str) -> Path:
    """The path inside `folder` that `name` stands for.

    Args:
      folder: of a checkpoint, or of data.
      name: a relative path as written in a file; "" is the folder itself.
      named_by: that file, for the error message.
      kind: "file" or "folder", for the error message.

    Returns:
      The path; it need not exist. A file may be a link to a place outside, as all files are in the cache of
      huggingface_hub; a folder may not.

    Raises:
      ValueError: for a path that leaves the folder.
    """
    parts = PurePosixPath(name).parts
    lexically = not PurePosixPath(name).is_absolute() and ".." not in parts
    # Backslashes and drives mean something only on Windows, but a checkpoint must mean the same everywhere.
    portable = name.isprintable() and "\\" not in name and not PureWindowsPath(name).drive
    short = all(len(part.encode("utf-8", "replace")) <= _LONGEST_NAME for part in parts)
    if lexically and portable and short:
        path = folder.joinpath(*parts)
        inside = path if path.is_dir() else path.parent
        if inside.resolve().is_relative_to(folder.resolve()):
            return path
    raise ValueError(
        f"{named_by} names the {kind} {shown(name)}, which is not in its own folder; use a complete copy "
        "of this folder."
    )
