"""The folder of a run, and how to load a run from it. Everything after training needs only this folder.

run_dir/
  config.json     the whole config; can be passed back as --config
  run.json        task, vocabulary and casing, lengths, labels, where the run began
  vocab.txt
  .lock           held by the process that trains in the folder
  checkpoints/    step-NNNNNNNN/ {model,optimizer}.safetensors, state.json; best.json names the best of them
  base/           with adapters (LoRA): what is not trained, once
  chosen.json     what an evaluation chose for the answers, if it was told to keep it
  metrics.jsonl   one line per log interval and per evaluation
  curves.html     the same as a page, when training has ended
  events/         the same for TensorBoard, where it is installed
"""

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from kbert.checks import require, with_checked_values
from kbert.cli.warn_once import warn_once
from kbert.config import TrainingConfig, from_dict, to_dict
from kbert.files.folder_lock import LOCK_FILE, lock_folder, lock_holder
from kbert.files.json_file import read_json_object, require_known_format
from kbert.files.json_values import json_count, shown
from kbert.files.output_path import names_in, require_local
from kbert.files.safetensors_file import read_safetensors
from kbert.files.stored_tensor import StoredTensor
from kbert.files.whole_file import is_temporary, try_to_rename, write_json
from kbert.runs import checkpoint
from kbert.runs.base_weights import base_file, merged_weights
from kbert.runs.best_checkpoint import read_index
from kbert.runs.chosen_settings import read_chosen, write_chosen
from kbert.runs.metrics_file import read_metrics
from kbert.runs.resume import require_same_run
from kbert.runs.run_file import RUN_FILE, holds_run
from kbert.tasks import TASKS
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.tokenization.vocabulary_files import VOCABULARY_FILES, read_vocabulary

if TYPE_CHECKING:
    from kbert.tasks.task import Task

FORMAT_VERSION = 1  # of run.json


class RunDirectory:
    """A finished or running training run on disk.

    Args:
      path: the folder; must hold a run.

    Attributes:
      path: the folder as a `Path`.
      config: the run's complete config, an instance of its task's config class.
      details: the content of run.json; `details["task"]` names the task.

    Raises:
      ValueError: when `path` holds no run, or a broken one.

    Examples:
      >>> from kbert import RunDirectory
      >>> run = RunDirectory(run_dir)  # for example "runs/classifier"
      >>> run.details["task"], run.checkpoint().name[:5]
      ('sequence_classification', 'step-')
    """

    @with_checked_values
    def __init__(self, path: str | Path):
        self.path = Path(os.path.expanduser(path))
        self._holder: str | None = None  # the name of this process, where it holds the lock
        if not holds_run(self.path):
            raise ValueError(f"{path} holds no kbert run (no run.json); give the folder of a run.")
        try:
            self.details = read_json_object(self.path / RUN_FILE)
            values = read_json_object(self.path / "config.json")
            task = str(self.details["task"])
            missing = {"task_config", "vocabulary"} - set(self.details)
            missing |= {"fingerprint", "do_lower_case"} - set(self.details.get("vocabulary", {}))
            if missing:
                raise ValueError(f"run.json lacks {', '.join(sorted(missing))}")
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path} holds a broken run ({error}); restore its files.") from None
        require_known_format(self.details, FORMAT_VERSION, self.path / RUN_FILE)
        if task not in TASKS:
            raise ValueError(
                f"{path} is a run of {task!r}, which is no task of kbert; if it is yours, add it "
                "first: TASKS[name] = its class."
            )
        self.config = from_dict(TASKS[task].config_class, values, where=str(self.path / "config.json"))
        recorded = json_count(self.details, "max_seq_length", self.path / RUN_FILE)
        length = getattr(self.config, "max_seq_length", recorded)
        require(
            recorded is None or recorded == length,
            f"{path}: run.json has max_seq_length={recorded}, config.json {length}; restore what was edited. "
            "kbert.load(...).with_max_seq_length gives a model with another length.",
        )

    @classmethod
    def create_or_resume(cls, path, config: TrainingConfig, details: dict, vocabulary: BaseVocabulary):
        """Creates a new run, or opens the run in `path` if it has the same settings.

        Args:
          path: the folder.
          config: the complete config.
          details: JSON-ready facts for run.json: `task` and what else `TASKS.recorded` needs; `data`, the
            fingerprints of the content of the training data ("train") and of the evaluation data ("eval").
            The complete `task_config`, the vocabulary's facts and `format_version` are added.
          vocabulary: copied into the folder.

        Raises:
          ValueError: when `path` holds another run (the differing keys are named) or other files.
          OSError: when it cannot be written; the same call, repeated, continues from what is there.
        """
        path = Path(os.path.expanduser(path))
        record = TASKS.to_record(TASKS.recorded(details))
        version, words = {"format_version": FORMAT_VERSION}, {"vocabulary": vocabulary.describe()}
        details = version | details | record | words
        if not holds_run(path):
            cls._create(path, config, details, vocabulary)
            return cls(path)
        run = cls(path)
        require_same_run(run, config, details)
        run.vocabulary()
        return run

    @staticmethod
    def _create(path, config, details, vocabulary):
        if path.exists():
            _require_free(path)
        path.mkdir(parents=True, exist_ok=True)
        # The lock file comes first: it marks the folder as kbert's own, even if writing the next files fails.
        with lock_folder(path):
            vocabulary.write_files(path)
            write_json(to_dict(config), path / "config.json")
            write_json(details, path / RUN_FILE)  # last: with it, the run exists

    def lock(self):
        """Locks the run, so that only this process trains in it.

        Returns:
          The open lock file, see `kbert.files.folder_lock.lock_folder`. The lock is released when it is
          closed, or when the process ends.

        Raises:
          BlockingIOError: when another process trains in it.
        """
        lock = lock_folder(self.path)
        self._holder = lock_holder(self.path)
        return lock

    def require_there(self):
        """Raises FileNotFoundError where the folder is no run any more, nor would be with a checkpoint."""
        if not holds_run(self.path):
            raise FileNotFoundError(
                f"{self.path} was removed, emptied or renamed while this process trained in it; bring it "
                "back, or give the same command its new name as run_dir, to go on from its last checkpoint"
            )

    def require_own(self):
        """Raises BlockingIOError where the folder that `lock` locked was replaced by that of another process.

        Contents are compared, not inodes, which some network file systems change.
        """
        is_other, described = False, self.path / RUN_FILE
        with contextlib.suppress(OSError, ValueError):  # a network disk may fail for a moment
            is_other = bool(self._holder) and lock_holder(self.path) not in (None, self._holder)
            is_other = is_other or (described.is_file() and read_json_object(described) != self.details)
        if is_other:
            raise BlockingIOError(
                f"{self.path} was replaced by another run while this process trained in it; nothing more is "
                "written there."
            )

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics_file(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def converted_from(self) -> str | None:
        """Of a run that was converted and never trained: the format in which the model came to kbert."""
        converted = self.details.get("converted", {})
        return converted.get("first_format", converted.get("format"))

    def trained_positions(self, folder: Path | None) -> int | None:
        """How many rows of a table of positions texts have trained, in this run or before it: the others are
        as they began. None for all, or where that is not known.

        Args:
          folder: of the checkpoint, which tells the phase; without it, or where it has been deleted since,
            the last phase.
        """
        details = self.details
        # Older runs do not record it.
        from_random = details.get("from_scratch", not details.get("init_checkpoint", "converted" in details))
        trained = details.get("trained_positions", details.get("max_seq_length") if from_random else None)
        if not isinstance(trained, list):
            return trained
        phase = -1
        with contextlib.suppress(ValueError):  # whoever reads the checkpoint says what is wrong with it
            phase = checkpoint.read_state(folder)["phase"] if folder else -1
        return trained[phase]

    def vocabulary(self) -> BaseVocabulary:
        """The run's vocabulary. Raises ValueError if its files have changed."""
        return read_vocabulary(self.path, self.details["vocabulary"])

    def require_casing(self, do_lower_case: bool | None):
        """Raises ValueError when a caller gives another casing than the run records; None gives none."""
        recorded = self.details["vocabulary"]["do_lower_case"]
        if do_lower_case not in (None, recorded):
            raise ValueError(
                f"do_lower_case={do_lower_case}, but the run {self.path} was made with {recorded}; leave it "
                "out."
            )

    def task(self, folder: Path | None = None) -> "Task":
        """The run's task.

        Args:
          folder: of a checkpoint; the task then answers with what an evaluation of it chose, if one did.
        """
        try:
            task = TASKS.recorded(self.details)
        except ValueError as error:
            raise ValueError(f"{self.path / RUN_FILE}: {error}") from None
        chosen = folder and read_chosen(self.path, checkpoint.parse_step(folder))
        if not chosen:
            return task
        return TASKS.recorded({"task": task.name, "task_config": task.get_config() | chosen.settings})

    def keep_chosen(self, step: int, settings: dict, chosen_on):
        """Keeps what an evaluation of a checkpoint chose: `task` takes it.

        Args:
          step: of the checkpoint that was evaluated. A run that is still training may have deleted it since;
            and "last" or "best" may mean another one by now, so no such word is taken here.
          settings: what `Task.chosen` gives.
          chosen_on: the file that was evaluated.
        """
        write_chosen(self.path, step, settings, chosen_on)

    def checkpoint(self, which: str | int | None = None) -> Path:
        """The folder of a checkpoint.

        Args:
          which: "last"; "best", by the run's `best_metric` on its evaluation data; or a step. None means
            "best" for a run with early stopping, whose last checkpoint is by design not its best, and "last"
            for all other runs, and where the metric was never a number.

        Raises:
          ValueError: when there is no such checkpoint (yet).
        """
        folders = checkpoint.list_checkpoints(self.checkpoints)
        if not folders:
            raise ValueError(
                f"{self.path} holds no checkpoint: none is saved yet, or all were deleted; train on, or "
                "restore them."
            )
        if which is None:
            stops_early = getattr(self.config, "early_stopping_patience", None)
            has_best = read_index(self.checkpoints) is not None
            which = "best" if stops_early and has_best else "last"
            if stops_early and not has_best:
                warn_once(f"{self.path} does not say which checkpoint was best; the last one is taken.")
            self._warn_of_unended(folders[-1])
        if which == "last":
            return folders[-1]
        steps = [checkpoint.parse_step(path) for path in folders]
        if which == "best":
            index = read_index(self.checkpoints)
            if index is None:
                raise ValueError(
                    f"{self.path} has no best checkpoint: {self._why_no_best()}. Its checkpoints are of the "
                    f"steps {', '.join(map(str, steps))}."
                )
            which = index["step"]
            if which not in steps:
                raise ValueError(
                    f"{self.path}: the best checkpoint, of step {which}, has been deleted; give "
                    f"checkpoint=last, or one of the steps {', '.join(map(str, steps))}."
                )
        if not str(which).isdigit() or int(which) not in steps:
            raise ValueError(
                f"{self.path} has no checkpoint {which!r}; choose last, best or one of the steps "
                f"{', '.join(map(str, steps))}."
            )
        return folders[steps.index(int(which))]

    def _warn_of_unended(self, last):
        """Warns where the training, by its last checkpoint, has steps left; older versions did not record it.
        Its own process, which holds the lock, is not told."""
        with contextlib.suppress(ValueError):  # whoever reads the checkpoint says what is wrong with it
            if not self._holder and not checkpoint.read_state(last).get("ended", True):
                warn_once(
                    f"the training of {self.path} has not ended: its last checkpoint is of step "
                    f"{checkpoint.parse_step(last)}. The same command trains on."
                )

    def _why_no_best(self):
        lines = read_metrics(self.metrics_file) if self.metrics_file.is_file() else []
        evaluations = sum(line["split"] == "eval" for line in lines)
        if not evaluations:
            return "it was not evaluated while it trained"
        metric = self.config.best_metric or self.task().best_metric
        return f"its {metric} was not a number in any of {evaluations} evaluations, or best.json was deleted"

    def load_checkpoint(self, which: str | int | None = None):
        """Task and model with a checkpoint's weights, in float32, and which checkpoint it was.

        A run that is still training may delete it meanwhile. Then that one is read which `which` means by
        now. Who needs the checkpoint's folder takes it from here: a second `checkpoint(which)` may be new.

        Args:
          which: see `checkpoint`.

        Returns:
          (the checkpoint's folder, task, Keras model).

        Raises:
          ValueError: when there is no such checkpoint, or it is damaged.
        """
        while True:
            path = self.checkpoint(which)
            try:
                return path, *self._load(path)
            except (ValueError, OSError):
                if path.is_dir():
                    raise

    def _load(self, path):
        weights, task = self.stored_weights(path), self.task(path)
        model = task.empty_model(self.config.encoder)
        checkpoint.assign(weights, trained_weights(model), path / checkpoint.WEIGHTS_FILE)
        return task, model

    def _whole_checkpoints(self):
        """Those whose weights can be read."""
        for path in checkpoint.list_checkpoints(self.checkpoints):
            with contextlib.suppress(checkpoint.DamagedCheckpoint):
                checkpoint.verify(path, [checkpoint.WEIGHTS_FILE])
                yield path

    def stored_weights(self, path) -> dict[str, StoredTensor]:
        """The weights of one of the run's checkpoints; with adapters (LoRA) merged into plain ones.

        The file is read once, to compare it with what was written; then each tensor when it is asked for.

        Raises:
          ValueError: when a file is missing or damaged.
        """
        path = Path(path)
        try:
            checkpoint.verify(path, [checkpoint.WEIGHTS_FILE])
        except checkpoint.DamagedCheckpoint as error:
            steps = ", ".join(str(checkpoint.parse_step(p)) for p in self._whole_checkpoints())
            way = (
                f"Choose another checkpoint, of the steps {steps}" if steps else "Restore it, or train again"
            )
            raise ValueError(f"{error} {way}.") from None
        trained = path / checkpoint.WEIGHTS_FILE
        if self.config.adapters is None:
            return read_safetensors(trained)
        base = base_file(self.path, self.details.get("init_checkpoint"))
        return merged_weights(base, trained, self.config.adapters)


def require_run_folder(path):
    """Raises an error where a run can neither be made nor go on. Call it before heavy work.

    It leaves no new folder.

    Raises:
      ValueError: when the folder holds other files or a broken run, or cannot be written; for gs://bucket/run.
      BlockingIOError: when another process trains in it.
    """
    require_local(path)
    path = Path(os.path.expanduser(path))
    if path.is_symlink() and not path.exists():
        raise ValueError(
            f"run_dir={path} is a link to {os.readlink(path)}, which does not exist; make that folder, or "
            "choose another."
        )
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    try:
        if path.exists() and not holds_run(path):
            _require_free(path)
        path.mkdir(parents=True, exist_ok=True)
        try_to_rename(path / "checkpoints", is_folder=True)
        if holds_run(path):
            RunDirectory(path).lock().close()
    except BlockingIOError:
        raise
    except OSError as error:
        raise ValueError(
            f"run_dir={path} cannot be written: {error.strerror or error}; choose another folder, or fix "
            "its rights."
        ) from None
    finally:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()


def _require_free(path):
    """Raises ValueError unless a folder without a run is empty, or holds the rest of a start that failed."""
    require(path.is_dir(), f"run_dir={path} is a file; choose a new or empty folder.")
    names = names_in(path)
    written = (LOCK_FILE, "config.json", *VOCABULARY_FILES)
    others = [name for name in sorted(names) if name not in written and not is_temporary(name)]
    if others or (names and LOCK_FILE not in names):
        raise ValueError(
            f"run_dir={path} exists and is no kbert run; choose a new or empty folder, without "
            f"{shown((others or sorted(names))[:3])}."
        )


def run_to_resume(path) -> RunDirectory | None:
    """The `RunDirectory` in a folder, if it has a checkpoint to resume from; else None.

    Raises:
      ValueError: when a run there is broken.
    """
    run = RunDirectory(path) if holds_run(path) else None
    return run if run and checkpoint.list_checkpoints(run.checkpoints) else None


def trained_weights(model) -> dict:
    """The variables that a checkpoint holds, by path; random generators are rebuilt from seed and step."""
    return {variable.path: variable for variable in model.trainable_variables}
