"""What belongs to a model, beside the folders of its versions: settings of the server, a container."""

import textwrap
from pathlib import Path

from ..gate.server_releases import releases_from
from .beside_version import BATCHING_FILE, batching_comment
from .docker_line import ENVIRONMENT, MODELS_FILE, MONITORING_FILE, server_flags
from .edited_files import is_edited, write_unless_edited
from .server_protos import batching_text, labels_of, models_text, monitoring_text

COMPOSE_FILE = "compose.yaml"


def write_model_files(
    base: Path, model_name: str, version: int, min_server_version: str | None, batching=None, measured=None
) -> dict:
    """Writes models.config, monitoring.config, compose.yaml and, where the model can be batched, a
    batching_params.pbtxt for the whole server.

    In models.config the new version becomes `canary`; `stable` stays where it was, and is the new version
    where there was none.

    Args:
      base: the folder of the versions.
      model_name: under which the model is served.
      version: the new version.
      min_server_version: the oldest server in use.
      batching: the arguments of `batching_text`; None where the model cannot be batched.
      measured: what `measure` gave.

    Returns:
      dict: written, the names of the files; edited, those that a person has edited: they were left alone, and
        what would have been written is in <name>.new.
    """
    image = releases_from(min_server_version)[0].image
    texts = {
        MODELS_FILE: models_text(model_name, f"/models/{model_name}", _labels(base, model_name, version)),
        MONITORING_FILE: monitoring_text(),
        COMPOSE_FILE: compose_text(model_name, image, can_batch=batching is not None),
    }
    if batching:
        texts[BATCHING_FILE] = batching_comment(measured) + batching_text(**batching)
    elif not is_edited(base / BATCHING_FILE):
        (base / BATCHING_FILE).unlink(missing_ok=True)  # of an earlier version that could be batched
    written = {name: write_unless_edited(base / name, text) for name, text in texts.items()}
    return {
        "written": [name for name, done in written.items() if done],
        "edited": [name for name, done in written.items() if not done],
    }


def compose_text(model_name: str, image: str, can_batch: bool) -> str:
    """compose.yaml: the server with the files beside it."""
    place = f"/models/{model_name}"
    flags = "\n".join(f"      - {flag}" for flag in server_flags(place))
    batching = [
        "--enable_batching=true",
        f"--batching_parameters_file={place}/{BATCHING_FILE}",
        "--enable_per_model_batching_parameters=true",
    ]
    batching_lines = "\n".join(f"      # - {flag}" for flag in batching) if can_batch else ""
    told = (
        "      # Batches of requests, for many clients at a time. Larger requests are then refused, and so\n"
        "      # are lists of different lengths, such as token ids, that arrive at the same time:\n"
        + batching_lines
        + "\n"
        if can_batch
        else "      # No batching: an input of this model has no first axis to join requests along.\n"
    )
    head = textwrap.dedent(f"""\
        # docker compose up; ask http://localhost:8501/v1/models/{model_name}/labels/stable:predict
        services:
          "{_service(model_name)}":
            image: {image}
            ports:
              - "8500:8500"  # gRPC
              - "8501:8501"  # REST, and /monitoring/prometheus/metrics
            volumes:
              - ".:{place}:ro"
            restart: unless-stopped
            environment:
              # Single texts in bfloat16 are faster with it, batches may be slower:
              # TF_ONEDNN_ASSUME_FROZEN_WEIGHTS: "1"
        """)
    head += "".join(f'      {name}: "{value}"\n' for name, value in ENVIRONMENT.items()) + "    command:\n"
    return f"{head}{flags}\n{told}"


def _service(model_name):
    """A name that compose takes: letters, digits, '.', '_' and '-'."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in model_name)


def _labels(base, model_name, version) -> dict[str, int]:
    """stable stays where a file says, if that version is still there."""
    path = base / MODELS_FILE
    stable = version
    if path.is_file():
        try:
            stable = labels_of(path.read_text(encoding="utf-8"), model_name, path).get("stable", version)
        except ValueError:  # a file that a person has edited: it is left as it is
            stable = version
    return {"stable": stable if (base / str(stable)).is_dir() else version, "canary": version}
