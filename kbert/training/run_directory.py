"""What a run leaves behind and how to load it: the handshake between training and everything after it.

run_dir/
  config.json     the whole config; can be passed back as --config
  run.json        task, vocabulary and casing, lengths, labels, where the run began
  vocab.txt
  checkpoints/    step-NNNNNNNN/ {model,optimizer}.safetensors, state.json; best.json names the best of them
  metrics.jsonl   one line a log interval and evaluation
  curves.html     the same as a page, when training has ended
  events/         the same for TensorBoard, where it is installed
"""

import json
from pathlib import Path

from absl import logging

from kbert.config import FinetuningConfig, PretrainingConfig, TrainingConfig, from_dict, to_dict
from kbert.encoder import BertEncoder
from kbert.files.whole_file import write_json
from kbert.tasks import TASKS
from kbert.tasks.task import Task
from kbert.tokenization.vocabulary import Vocabulary
from kbert.training import checkpoint
from kbert.training.best_checkpoint import read_index

_CONFIG_CLASSES = {name: FinetuningConfig for name in TASKS} | {"pretraining": PretrainingConfig}
# What may change when a run is taken up again. The first do not touch the numbers that come out; the second
# change them by rounding, and by which numbers dropout draws, as another number of devices does.
_FREE_KEYS = (
    "description",
    "steps_per_call",
    "log_every_steps",
    "save_checkpoints_steps",
    "keep_checkpoints",
    "peak_flops",
)
_ROUNDING_KEYS = (
    "jit_compile",
    "deterministic_ops",
    "gradient_accumulation_steps",
    "padding",
    "packed_rows",
    "recompute_activations",
    "eval_batch_size",
)


class RunDirectory:
    """A finished or running training run on disk.

    Args:
      path: the folder; must hold a run.

    Attributes:
      path: the folder as a `Path`.
      config: the run's `PretrainingConfig` or `FinetuningConfig`, complete.
      details: the content of run.json; `details["task"]` names the task.

    Raises:
      ValueError: when `path` holds no run, or a broken one.

    Example:
      >>> from kbert import RunDirectory
      >>> run = RunDirectory(run_dir)  # for example "runs/classifier"
      >>> run.details["task"], run.checkpoint().name[:5]
      ('sequence_classification', 'step-')
    """

    def __init__(self, path):
        self.path = Path(path)
        if not (self.path / "run.json").is_file():
            raise ValueError(f"{path} holds no kbert run (no run.json); give the --run_dir of a training.")
        try:
            self.details = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
            values = json.loads((self.path / "config.json").read_text(encoding="utf-8"))
            config_class = _CONFIG_CLASSES[self.details["task"]]
        except (ValueError, KeyError, TypeError, FileNotFoundError) as error:
            raise ValueError(f"{path} holds a broken run ({error!r}); restore its files.") from None
        self.config = from_dict(config_class, values, where=str(self.path / "config.json"))

    @classmethod
    def create_or_resume(cls, path, config: TrainingConfig, details: dict, vocabulary: Vocabulary):
        """Opens a new run, or the one in `path` if it is the very same.

        Args:
          path: the folder.
          config: the complete config.
          details: JSON-ready facts for run.json; must name `task`. The vocabulary's are added.
          vocabulary: copied into the folder.

        Raises:
          ValueError: when `path` holds another run (the differing keys are named) or other files.
        """
        path = Path(path)
        details = details | {"vocabulary": vocabulary.describe()}
        if (path / "run.json").is_file():
            run = cls(path)
            run._refuse_other(config, details)
            return run
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ValueError(
                f"--run_dir={path} holds other files, not a kbert run; choose a new or empty folder."
            )
        path.mkdir(parents=True, exist_ok=True)
        vocabulary.write(path / "vocab.txt")
        write_json(to_dict(config), path / "config.json")
        write_json(details, path / "run.json")  # last: with it, the run exists
        return cls(path)

    def _refuse_other(self, config, details):
        was, now = to_dict(self.config) | self.details, to_dict(config) | json.loads(json.dumps(details))
        rounding = differing_keys(was, now, free=_FREE_KEYS)
        differing = differing_keys(was, now)
        if rounding and not differing:
            logging.warning(
                "%s goes on with %s: its numbers are those of the uninterrupted run but for rounding and "
                "what dropout draws.", self.path, "; ".join(rounding),
            )  # fmt: skip
        if differing:
            raise ValueError(
                f"--run_dir={self.path} holds another run; it differs in {'; '.join(differing)}. Repeat its "
                "settings to resume it, or choose a new folder."
            )

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics_file(self) -> Path:
        return self.path / "metrics.jsonl"

    def vocabulary(self) -> Vocabulary:
        """The run's vocabulary, with its casing; refused when the file no longer is the one trained with."""
        recorded = self.details["vocabulary"]
        vocabulary = Vocabulary.from_file(self.path / "vocab.txt", recorded["do_lower_case"])
        if vocabulary.fingerprint != recorded["fingerprint"]:
            raise ValueError(
                f"{self.path / 'vocab.txt'} is not the vocabulary this run was trained with (fingerprint "
                f"{vocabulary.fingerprint}, expected {recorded['fingerprint']}); restore the original file."
            )
        return vocabulary

    def task(self) -> Task:
        """The run's task."""
        task_class = TASKS[self.details["task"]]
        if self.details["task"] == "sequence_classification":
            dataset = self.config.dataset
            return task_class(dataset.labels, dataset.positive_label)
        if self.details["task"] == "token_classification":
            return task_class(self.config.dataset.labels)
        if self.details["task"] == "pretraining":
            return task_class(next_sentence=self.details.get("next_sentence", True))
        return task_class()

    def checkpoint(self, which: str | int | None = None) -> Path:
        """The folder of a checkpoint.

        Args:
          which: "last"; "best", by the run's `best_metric` on its evaluation data; or a step. None is "best"
            for a run with early stopping, whose last one is by design not its best, and else "last".

        Raises:
          ValueError: when there is no such checkpoint (yet).
        """
        if which is None:
            which = "best" if getattr(self.config, "early_stopping_patience", None) else "last"
        there = checkpoint.list_checkpoints(self.checkpoints)
        if not there:
            raise ValueError(f"{self.path} holds no checkpoint yet; let its training run reach one.")
        if which == "last":
            return there[-1]
        steps = [checkpoint.step_of(path) for path in there]
        if which == "best":
            index = read_index(self.checkpoints)
            if index is None:
                raise ValueError(
                    f"{self.path} has no best checkpoint: it was not evaluated while it trained. Its "
                    f"checkpoints are of the steps {', '.join(map(str, steps))}."
                )
            which = index["step"]
        if not str(which).isdigit() or int(which) not in steps:
            raise ValueError(
                f"{self.path} has no checkpoint {which!r}; choose last, best or one of the steps "
                f"{', '.join(map(str, steps))}."
            )
        return there[steps.index(int(which))]

    def load_model(self, which: str | int | None = None):
        """Task and model with a checkpoint's weights, in float32.

        Args:
          which: see `checkpoint`.

        Returns:
          (task, Keras model).

        Raises:
          ValueError: when there is no such checkpoint, or it is damaged.
        """
        path = self.checkpoint(which)
        try:
            checkpoint.verify(path, [checkpoint.WEIGHTS_FILE])
        except checkpoint.DamagedCheckpoint as error:
            steps = ", ".join(
                str(checkpoint.step_of(p)) for p in checkpoint.list_checkpoints(self.checkpoints)
            )
            raise ValueError(f"{error} Choose another checkpoint, of the steps {steps}.") from None
        task = self.task()
        model = task.build_model(BertEncoder(self.config.encoder, dtype="float32"))
        checkpoint.restore(path / checkpoint.WEIGHTS_FILE, trained_weights(model))
        return task, model


def differing_keys(was: dict, now: dict, free=_FREE_KEYS + _ROUNDING_KEYS) -> list[str]:
    """Where two configs differ: "key (was 1, now 2)", but for the keys that may."""
    was, now = _flatten(was), _flatten(now)
    return [
        f"{key} (was {was.get(key)!r}, now {now.get(key)!r})"
        for key in sorted(was.keys() | now.keys())
        if was.get(key) != now.get(key) and key.rpartition(".")[2] not in free
    ]


def trained_weights(model) -> dict:
    """The variables that a checkpoint holds, by path; random generators are rebuilt from seed and step."""
    return {variable.path: variable for variable in model.trainable_variables}


def _flatten(values, prefix=""):
    flat = {}
    for key, value in values.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):  # phases
            value = dict(enumerate(value))
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[f"{prefix}{key}"] = value
    return flat
