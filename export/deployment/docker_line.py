"""The line that serves a model in Docker."""

import shlex
from pathlib import Path

from ..gate.server_releases import releases_from

MODELS_FILE, MONITORING_FILE = "models.config", "monitoring.config"
# Otherwise memory of past batches is kept in one pool a thread, and x86 processors without VNNI go without
# oneDNN; see docs/serving_speed.md.
ENVIRONMENT = {"MALLOC_ARENA_MAX": "2", "TF_ENABLE_ONEDNN_OPTS": "1"}


def docker_command(base: Path, model_name: str, min_server_version: str | None) -> str:
    """The line that serves a model with its files."""
    image = releases_from(min_server_version)[0].image
    place = f"/models/{model_name}"
    mount = f"type=bind,source={base.resolve()},target={place},readonly"
    ports = ["-p", "8500:8500", "-p", "8501:8501"]
    run = ["docker", "run", "--rm", *ports, *environment_arguments(), "--mount", mount]
    return shlex.join([*run, image, *server_flags(place)])


def environment_arguments() -> list[str]:
    """The arguments of `docker run` that set ENVIRONMENT."""
    return [part for name, value in ENVIRONMENT.items() for part in ("-e", f"{name}={value}")]


def server_flags(place: str) -> list[str]:
    """The flags of tensorflow_model_server for the files in `place`, its folder in the container."""
    return [
        f"--model_config_file={place}/{MODELS_FILE}",
        "--model_config_file_poll_wait_seconds=30",
        "--allow_version_labels_for_unavailable_models=true",
        f"--monitoring_config_file={place}/{MONITORING_FILE}",
    ]
