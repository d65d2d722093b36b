"""What a new run starts from, as the user names it; `Start` reads it. Without TensorFlow."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from kbert.checkpoints import formats
from kbert.checkpoints.report import require_all_matched
from kbert.checks import require
from kbert.config import Devices, DistillationConfig, TrainingConfig
from kbert.distillation import teacher
from kbert.runs import run_directory
from kbert.runs.run_file import holds_run
from kbert.tokenization.base_vocabulary import BaseVocabulary
from kbert.training.devices.rendezvous import require_free_port


@dataclass(frozen=True)
class Init:
    """What a new run starts from, as the user names it.

    Args:
      checkpoint: see `kbert.checkpoints.formats.read_checkpoint`; None for random weights.
      do_lower_case, allow_unmatched: arguments of `read_checkpoint`.
      from_scratch: use vocabulary and encoder shape of the checkpoint, but not its weights.
      vocabulary: the vocabulary of a run without a checkpoint.
      layers: the layers of the checkpoint to take, counted from 0; empty for all.

    Raises:
      ValueError: for `from_scratch` without a checkpoint.
    """

    checkpoint: str | Path | None = None
    do_lower_case: bool | None = None
    allow_unmatched: tuple = ()
    from_scratch: bool = False
    vocabulary: BaseVocabulary | None = None
    layers: tuple[int, ...] = ()

    def __post_init__(self):
        require(
            bool(self.checkpoint) or not self.from_scratch,
            "from_scratch takes vocabulary and encoder shape of init_checkpoint, but there is none; give "
            "init_checkpoint, or leave from_scratch out: without a checkpoint all weights are random.",
        )

    @property
    def has_weights(self) -> bool:
        """Whether a checkpoint gives weights to start from."""
        return bool(self.checkpoint) and not self.from_scratch

    def for_student(self, distillation: DistillationConfig | None) -> "Init":
        """The same, or with `init_layers` those layers of the teacher."""
        if distillation is None or not distillation.init_layers:
            return self
        return dataclasses.replace(
            self, checkpoint=distillation.teacher, layers=distillation.init_layers, vocabulary=None
        )

    def require_weights(self, config: TrainingConfig):
        """Raises ValueError where the config keeps or changes weights, and there are none to start from."""
        if self.for_student(config.distillation).has_weights:
            return
        for does, value in config.needs_weights.items():
            require(
                not value,
                f"{does} the weights of an init_checkpoint, but this run starts from random ones; give an "
                f"init_checkpoint with its weights, or leave {does.split(' ')[0]} out.",
            )

    def require_checkpoint(self, run_dir, distillation: DistillationConfig | None):
        """Raises ValueError where a teacher, or the checkpoint of a run that is to begin, is not there, or
        where names of tensors are allowed and nothing is read that has any."""
        teacher.require_teacher(distillation)
        require(
            bool(self.checkpoint or distillation) or not self.allow_unmatched,
            f"allow_unmatched={','.join(map(str, self.allow_unmatched))} is for tensors of a checkpoint, but "
            "there is neither an init_checkpoint nor a teacher; leave it out.",
        )
        if self.checkpoint and not run_directory.run_to_resume(run_dir):
            formats.require_checkpoint(self.checkpoint)
            if holds_run(self.checkpoint) and not distillation:  # a teacher may be of another format
                require_all_matched(self.checkpoint, self.allow_unmatched)

    def require_casing(self, vocabulary: BaseVocabulary, owner):
        """Raises ValueError where `do_lower_case` contradicts the vocabulary of a run without a checkpoint.

        Args:
          vocabulary: the `Vocabulary`, with its casing.
          owner: what it belongs to, for the message: a folder of records.
        """
        if not self.checkpoint and self.do_lower_case not in (None, vocabulary.do_lower_case):
            raise ValueError(
                f"do_lower_case={self.do_lower_case}, but the vocabulary of {owner} has do_lower_case="
                f"{vocabulary.do_lower_case}; leave it out, or make the records with the other casing."
            )


def require_place(run_dir, devices: Devices):
    """Raises an error where the folder or the port of a run cannot be had.

    Args:
      run_dir: the folder of the run.
      devices: see `make_strategy`.

    Raises:
      ValueError, BlockingIOError: as `require_free_port` and `require_run_folder` do.
    """
    if require_free_port(devices):
        run_directory.require_run_folder(run_dir)
