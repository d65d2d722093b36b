"""The line that serves a model in Docker."""

import csv
import io
import os
import re
import shlex
from pathlib import Path

from ..gate.server_releases import releases_from

# Otherwise memory of past batches is kept in one pool a thread, and x86 processors without VNNI go without
# oneDNN; see docs/serving_speed.md.
ENVIRONMENT = {"MALLOC_ARENA_MAX": "2", "TF_ENABLE_ONEDNN_OPTS": "1"}


def served_name(base: Path) -> str:
    """What TensorFlow Serving calls the model in a folder: the folder's name, of letters that its image, its
    flags and the paths of its REST take as they are."""
    return re.sub(r"[^A-Za-z0-9_.-]", "_", os.path.basename(os.path.abspath(base)))


def docker_command(base: Path, model_name: str, min_server_version: str | None) -> str:
    """The line that serves the newest version in a folder, with an image that knows its ops."""
    environment = {**ENVIRONMENT, "MODEL_NAME": model_name}
    arguments = [argument for name, value in environment.items() for argument in ("-e", f"{name}={value}")]
    mount = io.StringIO()  # Docker reads it as a line of CSV: a comma in a path needs quotes
    csv.writer(mount, lineterminator="").writerow(
        ["type=bind", f"source={base.resolve()}", f"target=/models/{model_name}", "readonly"]
    )
    image = releases_from(min_server_version)[0].image
    ports = ["-p", "8500:8500", "-p", "8501:8501"]
    return shlex.join(["docker", "run", "--rm", *ports, *arguments, "--mount", mount.getvalue(), image])
