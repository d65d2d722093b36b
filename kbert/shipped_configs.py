"""Where the configs lie that come with kbert, in a checkout and installed. Standard library only."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
FOLDER = "configs"


def configs_directory() -> Path:
    """The folder of configs: `kbert/configs` where kbert is installed, `configs` beside it in a checkout."""
    installed = _PACKAGE / FOLDER
    return installed if installed.is_dir() else _PACKAGE.parent / FOLDER


def find_config(path: str | Path) -> Path:
    """The config that a flag means.

    A file that exists is meant. A path that begins with `configs/` and is not there means the config of
    that name that came with kbert, so that `--config=configs/pretraining/smoke.toml` works in every folder.

    Args:
      path: what the user wrote.

    Returns:
      The file that exists, or `path` as it was given, for the reader to complain about.
    """
    path = Path(path)
    if path.parts[:1] == (FOLDER,) and ".." not in path.parts and not path.exists():
        shipped = configs_directory().joinpath(*path.parts[1:])
        if shipped.is_file():
            return shipped
    return path
