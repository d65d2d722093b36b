"""What the page is told of the models beside TensorFlow Serving's own answers: names, labels, thresholds."""

import json

from tensorflow_serving.apis import model_pb2

from ...gate.saved_model_session import RequestError
from ..models.served_models import ServedModels
from .export_files import about_export, has_vocabulary

PATH = "/page/models.json"


def model_list(models: ServedModels) -> bytes:
    """Lists the models, as JSON: `{"models": [one for each]}`.

    Each has `name`, `version`, `labels`, `thresholds` and `has_vocabulary`. `version` is the one that answers
    requests without a number, null while there is none. `labels` names the columns of `probabilities`,
    `thresholds` says from which probability a label is given (label -> number). Both stand in the export's
    kbert.json. They are null where it has none, as in SavedModels of other programs. `has_vocabulary` says
    whether the export came with one, for `vocabulary.py` to read.
    """
    return json.dumps({"models": [_described(models, name) for name in models.names()]}).encode()


def _described(models: ServedModels, name: str) -> dict:
    described = {"name": name, "version": None, "labels": None, "thresholds": None, "has_vocabulary": False}
    try:
        loaded = models.find(model_pb2.ModelSpec(name=name))
    except RequestError:  # it was dropped meanwhile, or has no version yet
        return described
    about = about_export(loaded.folder)
    settings = about.get("task_config")
    thresholds = settings.get("thresholds") if isinstance(settings, dict) else None
    return described | {
        "version": loaded.version,
        "labels": about.get("labels") or None,
        "thresholds": thresholds,
        "has_vocabulary": has_vocabulary(loaded.folder, about),
    }
