"""The docker line that starts TensorFlow Serving in the development server's place."""

import pathlib

from ..deployment.docker_line import docker_command
from ..gate.server_releases import RELEASES
from .models.model_settings import ModelSettings
from .models.version_folders import versions
from .page.export_files import about_export


def real_server_command(model: ModelSettings) -> str:
    """The line that serves `model` in Docker, with an image that knows the ops of all its versions."""
    base = pathlib.Path(model.base_path)
    return docker_command(base, model.name, _oldest_server(base))


def _oldest_server(base: pathlib.Path) -> str | None:
    """The oldest release that knows the ops of every version, by their kbert.json; None where none tells."""
    recorded = [about_export(folder).get("oldest_server") for folder in versions(base).values()]
    return next((release.name for release in reversed(RELEASES) if release.name in recorded), None)
