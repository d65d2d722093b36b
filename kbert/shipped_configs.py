"""Where to find the configs that come with kbert, in a checkout or installed. Standard library only."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
FOLDER = "configs"


def configs_directory() -> Path:
    """The folder of configs: `kbert/configs` where kbert is installed, `configs` beside it in a checkout."""
    installed = _PACKAGE / FOLDER
    return installed if installed.is_dir() else _PACKAGE.parent / FOLDER


def find_config(path: str | Path) -> Path:
    """Finds the config file that a flag names.

    An existing file is taken as it is. A path that begins with `configs/` and does not exist means the config
    of that name that comes with kbert. So `--config=configs/pretraining/smoke.toml` works in every folder.

    Args:
      path: what the user wrote.

    Returns:
      The existing file; or `path` unchanged, and whoever reads it reports that it does not exist.
    """
    path = Path(path)
    if path.parts[:1] == (FOLDER,) and ".." not in path.parts and not path.exists():
        shipped = configs_directory().joinpath(*path.parts[1:])
        if shipped.is_file():
            return shipped
    return path
