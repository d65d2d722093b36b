"""What a run leaves behind and how to load it: the handshake between training and everything after it.

run_dir/
  config.json     the whole config; can be passed back as --config
  run.json        task, vocabulary and casing, lengths, labels, where the run began
  vocab.txt
  checkpoints/    step-NNNNNNNN/ {model,optimizer}.safetensors, state.json
  metrics.jsonl   one line a log interval and evaluation
"""

import json
import os
from pathlib import Path

from kbert.config import FinetuningConfig, PretrainingConfig, TrainingConfig, from_dict, to_dict
from kbert.encoder import BertEncoder
from kbert.tasks import TASKS
from kbert.tasks.task import Task
from kbert.tokenization.vocabulary import Vocabulary
from kbert.training import checkpoint

_CONFIG_CLASSES = {name: FinetuningConfig for name in TASKS} | {"pretraining": PretrainingConfig}
# What may change when a run is taken up again: it does not touch the numbers that come out.
_FREE_KEYS = (
    "description",
    "steps_per_call",
    "log_every_steps",
    "save_checkpoints_steps",
    "keep_checkpoints",
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
      >>> run.details["task"], run.latest_checkpoint().name[:5]
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
        _write_json(path / "config.json", to_dict(config))
        _write_json(path / "run.json", details)  # last: with it, the run exists
        return cls(path)

    def _refuse_other(self, config, details):
        was = _flatten(to_dict(self.config)) | _flatten(self.details)
        now = _flatten(to_dict(config)) | _flatten(json.loads(json.dumps(details)))
        differing = [
            f"{key} (was {was.get(key)!r}, now {now.get(key)!r})"
            for key in sorted(was.keys() | now.keys())
            if was.get(key) != now.get(key) and key not in _FREE_KEYS
        ]
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

    def latest_checkpoint(self) -> Path:
        """The newest checkpoint's folder. Raises ValueError when there is none yet."""
        checkpoints = checkpoint.list_checkpoints(self.checkpoints)
        if not checkpoints:
            raise ValueError(f"{self.path} holds no checkpoint yet; let its training run reach one.")
        return checkpoints[-1]

    def load_model(self):
        """Task and model with the newest checkpoint's weights, in float32.

        Returns:
          (task, Keras model).
        """
        task = self.task()
        model = task.build_model(BertEncoder(self.config.encoder, dtype="float32"))
        weights = self.latest_checkpoint() / checkpoint.WEIGHTS_FILE
        checkpoint.restore(weights, trained_weights(model))
        return task, model


def trained_weights(model) -> dict:
    """The variables that a checkpoint holds, by path; random generators are rebuilt from seed and step."""
    return {variable.path: variable for variable in model.trainable_variables}


def _flatten(values, prefix=""):
    flat = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{key}.")
        else:
            flat[prefix + key] = value
    return flat


def _write_json(path, values):
    aside = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    aside.write_text(json.dumps(values, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    aside.replace(path)
