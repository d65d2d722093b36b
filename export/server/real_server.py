"""The docker line that starts TensorFlow Serving in the development server's place."""

import pathlib
import shlex

from ..deployment.docker_line import MODELS_FILE, MONITORING_FILE, docker_command, environment_arguments
from ..gate.server_releases import RELEASES, releases_from
from .models.model_settings import ModelSettings, read_config_file
from .models.version_folders import versions
from .page.export_files import about_export


def real_server_command(model: ModelSettings) -> str:
    """The line that serves `model` in Docker, with an image that knows the ops of all its versions.

    Beside an export it is the line of `kbert export`, with the labels and the monitoring. A folder without
    these files gets a line that serves its newest version.
    """
    base = pathlib.Path(model.base_path)
    oldest_server = _oldest_server(base)
    if _has_server_files(base, model.name):
        return docker_command(base, model.name, oldest_server)
    mount = f"type=bind,source={base.resolve()},target=/models/{model.name},readonly"
    return shlex.join(
        ["docker", "run", "--rm", "-p", "8500:8500", "-p", "8501:8501", *environment_arguments()]
        + ["--mount", mount, "-e", f"MODEL_NAME={model.name}", releases_from(oldest_server)[0].image]
    )


def _has_server_files(base: pathlib.Path, name: str) -> bool:
    """Whether models.config and monitoring.config lie there, for the model by this name.

    An export names the model after its folder. --model_name may differ from it, and the real server would
    then look for the versions where nothing is mounted.
    """
    try:
        listed = read_config_file(str(base / MODELS_FILE))
    except (OSError, ValueError):  # a person may have edited it
        return False
    mounted = (name, f"/models/{name}")
    return (base / MONITORING_FILE).is_file() and mounted in [(one.name, one.base_path) for one in listed]


def _oldest_server(base: pathlib.Path) -> str | None:
    """The oldest release that knows the ops of every version, by their kbert.json; None where none tells."""
    recorded = [about_export(folder).get("oldest_server") for folder in versions(base).values()]
    return next((release.name for release in reversed(RELEASES) if release.name in recorded), None)
