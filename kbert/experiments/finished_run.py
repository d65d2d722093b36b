"""What a finished run was asked for and what came out, so that nobody trains or evaluates it again."""

import json
import math
from pathlib import Path

from absl import logging

from kbert.config import to_dict
from kbert.experiments.start_content import content_digest
from kbert.experiments.starting_point import started_run
from kbert.files.json_file import read_json_object
from kbert.files.whole_file import write_json
from kbert.input_pipelines.tables.table_paths import source_digest
from kbert.manifest import FILE_NAME as MANIFEST
from kbert.runs.metrics_file import json_ready

FILE_NAME = "result.json"
_FILES = ("train_file", "dev_file")
_FOLDERS = ("train_dir", "dev_dir")
_START = ("init_checkpoint", "from_scratch", "do_lower_case")
# Where the weights of a run come from; `asked["content"]` has a digest of each.
_INIT, _TEACHER = "init_checkpoint", "teacher"


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
    start = {name: arguments.get(name) for name in _START}
    asked = {
        "config": to_dict(config),
        "data": {name: _digest_of(path) for name, path in files.items()},
        "start": {name: value if value is None else str(value) for name, value in start.items()},
        "allow_unmatched": [str(name) for name in arguments.get("allow_unmatched") or ()],
        "content": {
            _INIT: None if start["from_scratch"] else content_digest(start[_INIT]),
            _TEACHER: content_digest(config.distillation and config.distillation.teacher),
        },
        "vocabulary": vocabulary and vocabulary.describe(),
    }
    return json.loads(json.dumps(asked))


def _digest_of(path):
    """None for the manifest of a folder that has none, which is refused where it is opened."""
    is_missing = Path(path).name == MANIFEST and not Path(path).is_file()
    return None if is_missing else source_digest(path)


def as_begun(run_dir, asked: dict) -> dict:
    """`asked`, as `write_result` should record it once `run_finetuning` has gone on with what is there.

    A run that has a checkpoint goes on from it, and does not read `init_checkpoint` again. What that held
    when the run began is known only where its result.json says so.

    Args:
      run_dir: the run's folder, before `run_finetuning`.
      asked: what `asked_for` gives.
    """
    if started_run(run_dir) is None:
        return asked
    try:
        known = _read(run_dir).get("asked", {}).get("content", {}).get(_INIT)
    except (ValueError, AttributeError):  # no result.json, or a broken one
        known = None
    return asked | {"content": asked["content"] | {_INIT: known}}


def finished_metrics(run_dir, asked: dict) -> dict | None:
    """The metrics of a run that was finished as it is asked for now; None where there is no such run.

    A checkpoint that was deleted since leaves its runs finished. What an older kbert or a stopped run does
    not say of its start is not compared, with a warning.

    Args:
      run_dir: the run's folder.
      asked: what `asked_for` gives.

    Raises:
      ValueError: when the run began from other content of the same checkpoint, or with another
        `allow_unmatched`. It would go on from its own weights, so its scores are not what is asked for.
    """
    if not (Path(run_dir) / FILE_NAME).is_file() or not any((Path(run_dir) / "checkpoints").glob("step-*")):
        return None
    try:
        values = _read(run_dir)
    except ValueError as error:
        logging.warning("%s; the run is taken up again, and writes it anew.", error)
        return None
    recorded, metrics = values.get("asked"), values.get("metrics")
    if not isinstance(recorded, dict) or not isinstance(metrics, dict):
        return None
    same = {name: recorded.get(name) == asked[name] for name in ("config", "start", "data", "vocabulary")}
    if same["config"] and same["start"]:
        _require_same_start(run_dir, recorded, asked)
    if not all(same.values()):
        return None
    return {name: math.nan if value is None else value for name, value in metrics.items()}


def _read(run_dir):
    return read_json_object(Path(run_dir) / FILE_NAME)


def _require_same_start(run_dir, recorded, asked):
    """Compares what the names do not say: the content of the start, and how it was read."""
    was = recorded.get("allow_unmatched", asked["allow_unmatched"])
    if was != asked["allow_unmatched"]:
        raise ValueError(
            f"{run_dir} is finished, but it began with allow_unmatched={was}, now "
            f"{asked['allow_unmatched']}; repeat its settings, or delete the folder to train it again."
        )
    paths = {
        _INIT: asked["start"][_INIT],
        _TEACHER: (asked["config"].get("distillation") or {}).get(_TEACHER),
    }
    for name, now in asked["content"].items():
        was = (recorded.get("content") or {}).get(name)
        if was and now and was != now:
            raise ValueError(
                f"{run_dir} is finished, but the {name} {paths[name]} has changed since it was trained: its "
                f"content was {was}, now it is {now}. Delete the folder to train it again from what is there "
                "now, choose a new --run_dir, or restore the checkpoint."
            )
        if now and not was:
            logging.warning(
                "%s is finished, but does not record what the %s %s held when it began, because an older "
                "kbert made it or it was stopped and resumed. If that has changed since, delete the folder "
                "to train it again.",
                run_dir,
                name,
                paths[name],
            )


def write_result(run_dir, asked: dict, metrics: dict):
    """Writes `run_dir/result.json`. Call it when the run is finished."""
    write_json({"asked": asked, "metrics": json_ready(metrics)}, Path(run_dir) / FILE_NAME)
