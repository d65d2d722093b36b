"""What a finished run was asked for and what came out, so that nobody trains or evaluates it again."""

import json
import math
from pathlib import Path

from absl import logging

from kbert.config import to_dict
from kbert.files.json_file import read_json_object
from kbert.files.whole_file import write_json
from kbert.input_pipelines.tables.table_paths import source_digest
from kbert.manifest import FILE_NAME as MANIFEST
from kbert.runs.metrics_file import json_ready

FILE_NAME = "result.json"
_FILES = ("train_file", "dev_file")
_FOLDERS = ("train_dir", "dev_dir")


def asked_for(config, arguments: dict) -> dict:
    """What a run is asked for, JSON-ready: config, content of its data, and where it begins.

    Args:
      config: the `FinetuningConfig`, as it was before the run completes it.
      arguments: those of `run_finetuning`.
    """
    files = {name: arguments[name] for name in _FILES if arguments.get(name)}
    files |= {f"{name} of dev": path for name, path in (arguments.get("other_dev_files") or {}).items()}
    for name in _FOLDERS:
        if arguments.get(name):
            files[name] = Path(arguments[name]) / MANIFEST
    vocabulary = arguments.get("vocabulary")
    start = {name: arguments.get(name) for name in ("init_checkpoint", "from_scratch", "do_lower_case")}
    asked = {
        "config": to_dict(config),
        "data": {name: _digest_of(path) for name, path in files.items()},
        "start": {name: value if value is None else str(value) for name, value in start.items()},
        "vocabulary": vocabulary and vocabulary.describe(),
    }
    return json.loads(json.dumps(asked))


def _digest_of(path):
    """None for the manifest of a folder that has none, which is refused where it is opened."""
    is_missing = Path(path).name == MANIFEST and not Path(path).is_file()
    return None if is_missing else source_digest(path)


def finished_metrics(run_dir, asked: dict) -> dict | None:
    """The metrics of a run that was finished as it is asked for now; None where there is no such run.

    Args:
      run_dir: the run's folder.
      asked: what `asked_for` gives.
    """
    path = Path(run_dir) / FILE_NAME
    if not path.is_file() or not any((path.parent / "checkpoints").glob("step-*")):
        return None
    try:
        values = read_json_object(path)
    except ValueError as error:
        logging.warning("%s; the run is taken up again, and writes it anew.", error)
        return None
    if values.get("asked") != asked or not isinstance(values.get("metrics"), dict):
        return None
    return {name: math.nan if value is None else value for name, value in values["metrics"].items()}


def write_result(run_dir, asked: dict, metrics: dict):
    """Writes `run_dir/result.json`. Call it when the run is finished."""
    write_json({"asked": asked, "metrics": json_ready(metrics)}, Path(run_dir) / FILE_NAME)
