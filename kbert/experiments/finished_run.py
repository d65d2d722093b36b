"""The description of a finished run and its metrics, so that nobody trains or evaluates it again.

result.json of a run holds both. The same path may hold another checkpoint tomorrow, so digests tell contents.
"""

import functools
import hashlib
import json
import re
from pathlib import Path

from absl import logging

from kbert.checkpoints import GOOGLE, KBERT, MODEL_GARDEN, formats, google_tf1
from kbert.checkpoints.hugging_face import hub
from kbert.config import FinetuningConfig, from_dict, to_dict
from kbert.files.json_file import read_json_object
from kbert.files.whole_file import write_json
from kbert.input_pipelines.tables.table_paths import source_digest
from kbert.manifest import FILE_NAME as MANIFEST
from kbert.manifest import digest
from kbert.runs import checkpoint, run_directory
from kbert.runs.metrics_file import json_ready, recorded_metrics
from kbert.runs.resume import differing_keys, differing_results, normalized_path

FILE_NAME = "result.json"
# Where the weights of a run come from; `description["content"]` has a digest of each.
_INIT, _TEACHER = "init_checkpoint", "teacher"
# In a folder of these formats the first kind of weights that is there is read, as when loading.
_WEIGHT_FILES = (
    "model*.safetensors",
    "pytorch_model*.bin",
    "tf_model*.h5",
    "*.weights.h5",
    "variables/variables.data-*",
)
_MODULES = "[0-9]_*"  # folders of a sentence-transformers model


def describe_run(config, arguments: dict) -> dict:
    """The description of a run, JSON-ready: config, digests of its data, and what it starts from.

    Args:
      config: the `FinetuningConfig`, as it was before the run completes it.
      arguments: those of `finetune`.
    """
    files = {name: arguments.get(name) for name in ("train_file", "dev_file")}
    files |= {f"{name} of dev": path for name, path in (arguments.get("other_dev_files") or {}).items()}
    for name in ("train_dir", "dev_dir"):
        # A folder without manifest is refused where it is opened.
        manifest = Path(arguments.get(name) or "") / MANIFEST
        files[name] = manifest if arguments.get(name) and manifest.is_file() else None
    vocabulary, init = arguments.get("vocabulary"), arguments.get(_INIT)
    start = {name: arguments.get(name) for name in (_INIT, "from_scratch", "do_lower_case")}
    description = {
        "config": to_dict(config),
        "data": {name: source_digest(path) for name, path in files.items() if path},
        "start": {name: value if value is None else str(value) for name, value in start.items()}
        | {_INIT: normalized_path(init and str(init))},
        "allow_unmatched": [str(name) for name in arguments.get("allow_unmatched") or ()],
        "content": {
            _INIT: content_digest(init, with_weights=not start["from_scratch"]),
            _TEACHER: content_digest(config.distillation and config.distillation.teacher),
        },
        "vocabulary": vocabulary and vocabulary.describe(),
    }
    return json.loads(json.dumps(description))


def with_recorded_init(run_dir, description: dict) -> dict:
    """`description`, as `write_result` should record it once `finetune` has gone on with what is there.

    A run that has a checkpoint goes on from it, and does not read `init_checkpoint` again. What that held
    when the run began stands in its run.json.

    Args:
      run_dir: the run's folder, before `finetune`.
      description: of `describe_run`.

    Raises:
      ValueError: when it holds something else now: runs of other seeds would begin from that.
    """
    run = run_directory.run_to_resume(run_dir)
    if run is None:
        return description
    known = description["content"] | {_INIT: run.details.get("init_digest")}
    _require_same_content(run_dir, known, description)
    return description | {"content": known}


def finished_metrics(run_dir, description: dict) -> dict | None:
    """The metrics of a finished run of the same description; None where there is no such run.

    Checkpoints that were deleted since leave it finished. What a stopped run does not say of its start
    is not compared, with a warning.

    Args:
      run_dir: the run's folder.
      description: of `describe_run`.

    Raises:
      ValueError: when the run began from other content of the same checkpoint, or with another
        `allow_unmatched`. It would go on from its own weights, so its scores would be those of another
        description. Or when it differs in data, start, vocabulary, or settings that change its metrics, and
        has no checkpoint left.
    """
    if not (Path(run_dir) / FILE_NAME).is_file():
        return None
    try:
        values = read_json_object(Path(run_dir) / FILE_NAME)
        recorded, metrics = values["asked"], dict(values["metrics"])
        # Older versions kept it as it was given.
        recorded["start"][_INIT] = normalized_path(recorded["start"][_INIT])
        contents, now = recorded["content"], description["content"]
        if contents[_INIT] == now[_INIT] is not None:  # wherever it lies
            recorded["start"][_INIT] = description["start"][_INIT]
        if contents[_TEACHER] == now[_TEACHER] is not None:
            recorded["config"]["distillation"][_TEACHER] = description["config"]["distillation"][_TEACHER]
        same = {name: recorded[name] == description[name] for name in ("start", "data", "vocabulary")}
        # A setting that did not exist when the run was finished counts as its default.
        config = json.loads(json.dumps(to_dict(from_dict(FinetuningConfig, recorded["config"]))))
        differing = differing_results(config, description["config"])
        same["config"] = not differing
    except (ValueError, KeyError, TypeError) as error:
        logging.warning("%s; the run is resumed and writes the file again.", error)
        return None
    if same["config"] and same["start"]:
        _require_same_start(run_dir, recorded, description)
    if all(same.values()):
        return recorded_metrics(metrics)
    goes_on = not differing_keys(config, description["config"])  # else `finetune` names what differs
    if goes_on and not checkpoint.list_checkpoints(Path(run_dir) / "checkpoints"):
        differing += [f"its {name}" for name in ("start", "data", "vocabulary") if not same[name]]
        raise ValueError(
            f"{run_dir} is finished, and its checkpoints were deleted, so it would be trained again from the "
            f"first step; it differs in {'; '.join(differing)}. Repeat what it was given, or delete the "
            "folder."
        )
    return None


def _require_same_start(run_dir, recorded, description):
    """Compares what the names do not say: the content of the start, and how it was read."""
    before = recorded["allow_unmatched"]
    if before != description["allow_unmatched"]:
        raise ValueError(
            f"{run_dir} is finished, but it was started with allow_unmatched={before}, now "
            f"{description['allow_unmatched']}; repeat its settings, or delete the folder to train "
            "it again."
        )
    for name in _require_same_content(run_dir, recorded["content"], description):
        logging.warning(
            "%s is finished, but does not record what the %s held when it began, because it was stopped and "
            "resumed. If that has changed since, delete the folder to train it again.", run_dir, name,
        )  # fmt: skip


def _require_same_content(run_dir, recorded, description):
    """Compares what a run began from, and what is there now; which of them the run does not say."""
    distillation = description["config"].get("distillation") or {}
    paths = {_INIT: description["start"][_INIT], _TEACHER: distillation.get(_TEACHER)}
    for name, now in description["content"].items():
        before = recorded[name]
        if before and now and not now.startswith(before):  # older versions kept that of weights alone
            raise ValueError(
                f"{run_dir} has begun, but the {name} {paths[name]} has changed since: its content was "
                f"{before}, now it is {now}. Delete the folder to train it again from what is there now, "
                "choose a new run_dir, or restore the checkpoint."
            )
    return [name for name, now in description["content"].items() if now and not recorded[name]]


def write_result(run_dir, description: dict, metrics: dict):
    """Writes `run_dir/result.json`. Call it when the run is finished."""
    write_json({"asked": description, "metrics": json_ready(metrics)}, Path(run_dir) / FILE_NAME)


def content_digest(path, with_weights: bool = True) -> str | None:
    """A digest of what a run would start from; another one when it was trained further, or changed by hand.

    A run of kbert costs nothing: its state.json names the step and the checksum of the weights. The files of
    other formats are read once by a process.

    Args:
      path: a checkpoint, as `kbert.checkpoints.formats.read_checkpoint` takes it; None for no checkpoint.
      with_weights: False where only its vocabulary and settings are read.

    Returns:
      16 hexadecimal digits for the weights, and as many for the small files beside them; None where nothing
      can be compared: there is no such file or it is broken, or it is a name such as hf://org/name@revision,
      for which no server is asked.
    """
    if path is None:
        return None
    try:
        weights, settings = _content(Path(path), formats.detect_format(path))
    except (ValueError, OSError):  # whoever reads the checkpoint says what is wrong with it
        return None
    if with_weights and not weights:
        return None
    contents = [weights, settings] if with_weights else [settings]
    digests = [hashlib.sha256(json.dumps(each).encode()).hexdigest()[:16] for each in contents if each]
    return "".join(digests) or None


def _content(path, checkpoint_format):
    """(what tells the weights, what tells vocabulary and settings, which a run never changes), JSON-ready."""
    if checkpoint_format == KBERT:
        state = checkpoint.read_state(run_directory.RunDirectory(path).checkpoint())
        return [state["step"], state["files"][checkpoint.WEIGHTS_FILE]], []
    is_tensorflow = checkpoint_format in (GOOGLE, MODEL_GARDEN)
    if is_tensorflow and (prefix := google_tf1.checkpoint_prefix(path)):  # a SavedModel has none
        path, files = prefix.parent, sorted(prefix.parent.glob(f"{prefix.name}.*-of-*"))
    else:
        files = []
        for folder in (path, *sorted(path.glob(_MODULES))):
            files += next(filter(None, (sorted(folder.glob(pattern)) for pattern in _WEIGHT_FILES)), [])
    # Runs may lie within the folder, so its modules alone are looked into.
    settings = [re.sub(r"^\*_", "[0-9]_", pattern) for pattern in hub.SMALL_FILES]
    beside = [file for pattern in (*settings, "assets/vocab.txt") for file in sorted(path.glob(pattern))]
    return _digests(files), _digests(beside)


def _digests(files):
    stats = [(file, file.stat()) for file in files]
    return [[f.name, stat.st_size, _file_digest(f, stat.st_size, stat.st_mtime_ns)] for f, stat in stats]


@functools.cache
def _file_digest(file, size, changed_at):
    """Once for all seeds of a command; size and time tell a file that was written since."""
    return digest(file)
