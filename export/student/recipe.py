"""What a student for phones is asked for; everything is refused here, before anything is written."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

from kbert.config import DistillationConfig, FinetuningConfig, to_dict
from kbert.files.json_file import read_json_object
from kbert.files.whole_file import write_json
from kbert.tasks.file_columns import require_columns

from ..litert import requests

_RECIPE_FILE = "recipe.json"


class Recipe(NamedTuple):
    """What to make.

    Args:
      config: the student's; its [distillation] names the teacher and the layers to start from.
      folder: for all that is made.
      train_file, dev_file: labelled files as `config.dataset` says.
      vocab_size: the most pieces to keep; None keeps all that the training texts need.
      quantizations, lengths, min_agreement: as for `export_tflite`.
    """

    config: FinetuningConfig
    folder: Path
    train_file: str
    dev_file: str
    vocab_size: int | None
    quantizations: tuple[str, ...]
    lengths: tuple[int, ...]
    min_agreement: float

    @property
    def teacher(self) -> Path:
        """The run of the teacher, cut to the texts."""
        return self.folder / "teacher"

    @property
    def student(self) -> Path:
        """The run of the student."""
        return self.folder / "student"

    @property
    def litert(self) -> Path:
        """The folder of the LiteRT files."""
        return self.folder / "litert"

    @property
    def distillation(self) -> DistillationConfig:
        """What the student learns from its teacher; raises ValueError where the config does not say it."""
        found = self.config.distillation
        if found is None or not found.init_layers:
            raise ValueError(
                "--config has no [distillation] with init_layers, the layers of the teacher that the student "
                "starts from; configs/finetuning/sms_spam_phone.toml shows one."
            )
        return found

    def check(self):
        """Raises ValueError or OSError for what can be seen without reading a weight."""
        requests.check_quantizations(self.quantizations)
        requests.check_agreement(self.min_agreement)
        if not self.distillation.teacher:
            raise ValueError("a student needs a teacher: give --teacher_checkpoint, a fine-tuned model.")
        requests.check_lengths(self.lengths)
        if max(self.lengths) > self.config.max_seq_length:
            raise ValueError(
                f"--max_seq_length={max(self.lengths)} is more than max_seq_length="
                f"{self.config.max_seq_length} of the config, and the student learns no more positions."
            )
        for path in (self.train_file, self.dev_file):
            require_columns(self.config.task, path, self.config.dataset)

    def check_content(self):
        """Reads files and teacher, and compares them with each other and with what the folder was made for.

        Raises:
          ValueError: when a file has no example or other labels, the teacher has another task or other
            labels or lacks a layer, or the folder holds a student of another recipe.
        """
        from kbert.checkpoints.conversion.layer_picking import with_layers
        from kbert.distillation.teacher import read_teacher
        from kbert.experiments.labelled_file import LabelledFile
        from kbert.tasks import TASKS

        config, task_class = self.config, TASKS[self.config.task]
        train = LabelledFile(self.train_file, task_class, config.dataset)
        dev = LabelledFile(self.dev_file, task_class, train.dataset)
        for name, data in (("train_file", train), ("dev_file", dev)):
            if not data.num_examples:
                raise ValueError(f"--{name}={data.path} has no example; give a file of labelled examples.")
        teacher = read_teacher(self.distillation)
        encoder = with_layers(teacher.checkpoint, self.distillation.init_layers).encoder
        task = task_class.of_dataset(train.dataset, task_class.read_settings(config.task_settings))
        vocabulary = teacher.checkpoint.vocabulary
        teacher.check_with(task, self.distillation, encoder, vocabulary, config.max_seq_length)
        config = dataclasses.replace(config, dataset=train.dataset)
        self._claim_folder(self._asked(config, teacher, train, dev))

    def _asked(self, config, teacher, train, dev) -> dict:
        """What decides what the teacher and the student become, ready for JSON."""
        return {
            "config": to_dict(config),
            "teacher_digest": teacher.digest,
            "train_file": train.fingerprint,
            "dev_file": dev.fingerprint,
            "vocab_size": self.vocab_size,
        }

    def _claim_folder(self, asked):
        from kbert.runs.run_directory import differing_keys

        path = self.folder / _RECIPE_FILE
        if not path.is_file():
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise ValueError(
                    f"--run_dir={self.folder} holds other files, no student; choose a new or empty folder."
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(asked, path)
        elif differing := differing_keys(read_json_object(path), asked):
            raise ValueError(
                f"--run_dir={self.folder} holds a student of another recipe; it differs in "
                f"{'; '.join(differing)}. Repeat its settings to go on with it, or choose a new folder."
            )
