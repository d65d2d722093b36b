"""Whether a run may be resumed with the settings and data that are given now."""

import copy
import json
import os
import re

from absl import logging

from kbert.config import to_dict
from kbert.runs import checkpoint  # late: it loads NumPy, which --help has no use for
from kbert.tasks import TASKS

# Settings that may change when a run is resumed, those of phases as well. The first do not change its
# results. The second change them by rounding, and by the random numbers that dropout draws, as another number
# of devices does.
_FREE_KEYS = (
    "description",
    "steps_per_execution",
    "log_every_steps",
    "save_checkpoints_steps",
    "keep_checkpoints",
    "peak_flops",
    "distillation.teacher",  # where it lies; run.json records its content
    "trained_positions",  # run.json's: follows from init_checkpoint, which is not read again
)
_LENGTHS = ("num_train_epochs", "num_train_steps", "optimizer.train_minutes")
_ROUNDING_KEYS = (
    "jit_compile",
    "gradient_accumulation_steps",
    "padding",
    "packed_rows",
    "recompute_activations",
)
# These change no weight, but what evaluations say: `max_eval_steps` batches are other records, and candidates
# of one another are the texts of a batch.
_EVALUATION_KEYS = ("eval_batch_size",)


def require_same_run(run, config, details: dict):
    """Refuses to resume a run with other settings or training data; warns of what changes results a little.

    Args:
      run: the `RunDirectory`.
      config: the complete config that is given now.
      details: the content that run.json would have.

    Raises:
      ValueError: naming the settings that differ, or when the content of the training data has changed, or
        that of data which stop it early.
    """
    recorded = to_dict(run.config) | copy.deepcopy(run.details) | TASKS.to_record(run.task())
    current = to_dict(config) | json.loads(json.dumps(details))
    if config.distillation is not None and config.distillation.init_layers:
        for entries in (recorded, current):  # `teacher_digest` tells the teacher, wherever it lies
            entries.pop("init_checkpoint", None)
    recorded_digest, digest = (entries.pop("init_digest", None) for entries in (recorded, current))
    for entries in (recorded, current):
        if digest and digest == recorded_digest:  # wherever it lies
            entries.pop("init_checkpoint", None)
        elif "init_checkpoint" in entries:
            entries["init_checkpoint"] = normalized_path(entries["init_checkpoint"])
    has_other_data = _compare_data(run.path, recorded, current)
    differing = differing_keys(recorded, current)
    if has_other_data:  # by a setting too, such as max_train_examples
        if not differing_keys(to_dict(run.config), to_dict(config)):
            is_drawn = getattr(config, "max_train_examples", None) is not None
            drew = ", or max_train_examples drew other rows in another version of kbert" if is_drawn else ""
            raise ValueError(
                f"run_dir={run.path} was trained on other data: the content of its training data has changed "
                f"since{drew}. Restore the data to resume it, or choose a new folder."
            )
        differing.append("the content of its training data")
    if (
        recorded_digest
        and digest not in (None, recorded_digest)
        and not checkpoint.list_checkpoints(run.checkpoints)
    ):
        differing.append("the content of its init_checkpoint")
    if not differing:
        _warn_of_changes(run.path, recorded, current)
        return
    longer = ""
    if all(_setting(key.split(" ")[0]) in _LENGTHS for key in differing):
        longer = (
            " The learning rate follows the length, so a run keeps its own; to train its model further: "
            f"init_checkpoint={run.path} with a new run_dir."
        )
    is_empty = not (run.metrics_file.exists() or checkpoint.list_checkpoints(run.checkpoints))
    empty = " It has saved nothing so far: if no process trains in it, you may delete it." if is_empty else ""
    raise ValueError(
        f"run_dir={run.path} holds another run; it differs in {'; '.join(differing)}. Repeat its "
        f"settings to resume it, or choose a new folder.{longer}{empty}"
    )


def settings_of_workers(config, details: dict) -> dict:
    """What may change when a run goes on, and still has to be the same for all its workers: they meet as
    often as it says.

    Args:
      config, details: as for `require_same_run`.

    Returns:
      name -> value.
    """
    flat = flat_settings(to_dict(config))
    names = ("steps_per_execution", "log_every_steps", "save_checkpoints_steps")
    settings = {
        name: [flat[key] for key in sorted(flat) if _setting(key) == name]
        for name in (*names, *_ROUNDING_KEYS, *_EVALUATION_KEYS)
    }
    return settings | {"evaluation data": details.get("data", {}).get("eval")}


def normalized_path(path: str | None) -> str | None:
    """A path without what changes no place: a slash at the end, `./`, `~`; a name of a hub as it is."""
    return path if not path or "://" in path else os.path.normpath(os.path.expanduser(path))


def _warn_of_changes(path, recorded, current):
    if rounding := differing_keys(recorded, current, free=_FREE_KEYS + _EVALUATION_KEYS):
        logging.warning(
            "%s goes on with changed settings, %s: its results will differ from those of the unchanged "
            "run by rounding and by what dropout draws.", path, "; ".join(rounding),
        )  # fmt: skip
    if evaluations := differing_keys(recorded, current, free=_FREE_KEYS + _ROUNDING_KEYS):
        logging.warning(
            "%s is evaluated in other batches from now on, %s: where max_eval_steps or in-batch candidates "
            "make evaluations depend on that, those before and after, and the best checkpoint, cannot be "
            "compared.", path, "; ".join(evaluations),
        )  # fmt: skip


def _compare_data(path, recorded, current) -> bool:
    """Whether the training data are other ones; the same may have another name. Refuses other data that stop
    it early."""
    data, current_data = recorded.pop("data", {}), current.pop("data", {})
    train, current_train = data.get("train"), current_data.get("train")
    if not (train and current_train):
        logging.warning(
            "%s: cannot check whether the training data are the same as before, because the run does not "
            "say what they were.", path,
        )  # fmt: skip
    elif train != current_train:
        return True
    else:
        for entries in (recorded, current):
            for name in ("train_file", "num_train_examples"):  # which the digests tell
                entries.pop(name, None)
            for phase in (entries, *entries.get("records_of_phases", ())):
                for name in ("input_files", "vocab_file"):  # what the records were made of
                    phase.get("records", {}).pop(name, None)
    if "eval" in data:
        _compare_evaluations(path, data["eval"], current_data.get("eval"), current)
    return False


def _compare_evaluations(path, evaluated, evaluated_now, current):
    """As `_compare_data`, with the evaluation data before and now; without any they are empty or None."""
    if not (evaluated and evaluated_now):
        if evaluated:
            logging.warning(
                "%s was evaluated so far, and is not from now on, because no data for that are given: its "
                "best checkpoint stays the best of those before. Give them again to go on as it began.", path,
            )  # fmt: skip
        elif evaluated_now:
            logging.warning(
                "%s began without evaluation data: its best checkpoint is the best of those evaluated.",
                path,
            )  # fmt: skip
        return
    if evaluated != evaluated_now:
        before, now = (str(each).split("+") for each in (evaluated, evaluated_now))
        if (before[0] != now[0] or {*now} - {*before}) and current.get("early_stopping_patience"):
            raise ValueError(
                f"run_dir={path} was evaluated on other data (another content or name, or fewer files), and "
                "by early stopping they choose its end and its scores. Restore them to resume it, choose a "
                "new folder, or evaluate its model on the new data (kbert evaluate)."
            )
        logging.warning(
            "%s was evaluated on other data so far: the content, the names or the masks of its evaluation "
            "data have changed, so evaluations before and after cannot be compared.", path,
        )  # fmt: skip


def differing_keys(
    recorded: dict, current: dict, free=_FREE_KEYS + _ROUNDING_KEYS + _EVALUATION_KEYS
) -> list[str]:
    """Where two configs differ: "key (was 1, now 2)", without the keys in `free`, which may differ."""
    before, after = flat_settings(recorded), flat_settings(current)
    return [
        f"{key} (was {before.get(key)!r}, now {after.get(key)!r})"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key) and _setting(key) not in free
    ]


def differing_results(recorded: dict, current: dict) -> list[str]:
    """As `differing_keys`, of what may change weights or metrics by more than rounding."""
    free = {*_FREE_KEYS, *_ROUNDING_KEYS} - {"distillation.teacher"}  # whose content nothing tells here
    return differing_keys(recorded, current, free=free)


def _setting(key: str) -> str:
    """The path of a setting, in a phase that of the run: a label may be called as a setting is."""
    return re.sub(r"^phases\.\d+\.", "", key)


def flat_settings(values: dict, prefix: str = "") -> dict:
    """A config, also with phases, as one level: "optimizer.learning_rate" -> value."""
    flat = {}
    for key, value in values.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):  # phases
            value = dict(enumerate(value))
        if isinstance(value, dict):
            flat |= flat_settings(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
