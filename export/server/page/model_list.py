"""What the page is told of the models beside TensorFlow Serving's own answers: names, labels, thresholds."""

import json
import pathlib

from tensorflow_serving.apis import model_pb2

from ...gate.saved_model_session import RequestError
from ..models.served_models import ServedModels

PATH = "/page/models.json"


def model_list(models: ServedModels) -> bytes:
    """Lists the models, as JSON: `{"models": [{"name", "version", "labels", "thresholds"}]}`.

    `version` is the one that answers requests without a number, null while there is none. `labels` names the
    columns of `probabilities`, `thresholds` says from which probability a label is given (label -> number).
    Both stand in the export's kbert.json. They are null where it has none, as in SavedModels of other
    programs.
    """
    return json.dumps({"models": [_described(models, name) for name in models.names()]}).encode()


def _described(models: ServedModels, name: str) -> dict:
    described = {"name": name, "version": None, "labels": None, "thresholds": None}
    try:
        loaded = models.find(model_pb2.ModelSpec(name=name))
    except RequestError:  # it was dropped meanwhile, or has no version yet
        return described
    about = _about(loaded.folder)
    settings = about.get("task_config")
    thresholds = settings.get("thresholds") if isinstance(settings, dict) else None
    return described | {
        "version": loaded.version,
        "labels": about.get("labels") or None,
        "thresholds": thresholds,
    }


def _about(folder: pathlib.Path) -> dict:
    """The export's kbert.json; nothing where there is none, or none that can be read."""
    try:
        about = json.loads((folder / "assets.extra" / "kbert.json").read_bytes())
    except (OSError, ValueError):
        return {}
    return about if isinstance(about, dict) else {}
