"""What a run starts from, as read: vocabulary, encoder, weights, and the teacher if its config names one."""

import dataclasses
import functools
from typing import Any

from absl import logging

from kbert.checkpoints import model_loading
from kbert.checkpoints.conversion.resizing import POSITION_TABLE, WORD_TABLE, with_layers
from kbert.checkpoints.conversion.untrained_rows import warn_of_equal_tokens, warn_of_positions
from kbert.checkpoints.formats import read_checkpoint
from kbert.checkpoints.hugging_face.absent_files import warn_of_mean
from kbert.config import TrainingConfig
from kbert.config.pooling_config import PoolingConfig
from kbert.distillation import distillation
from kbert.distillation.teacher import Teacher, read_teacher
from kbert.experiments.evaluation_data import trained_runs
from kbert.experiments.finished_run import content_digest
from kbert.experiments.init import Init
from kbert.runs.run_directory import RunDirectory, run_to_resume
from kbert.runs.run_file import holds_run


class Start:
    """What a run starts from: a checkpoint, a teacher's layers, or random weights.

    A run that already has a checkpoint resumes from it. Its `init` is then not read again and may have been
    deleted.

    Args:
      config: the run's config; its encoder is None to take the checkpoint's.
      init: what the user names; its casing and allowances hold for the teacher too.
      run_dir: the folder of the run.
      task: the `Task`.

    Attributes:
      vocabulary: the `Vocabulary`, or None when none was given.
      encoder: the `EncoderConfig`, or None when none was given.
      pooling: how the checkpoint, or without one the teacher, makes one vector of a text, a `PoolingConfig`;
        None where it does not say.
      activation: how the checkpoint makes a score of its output, see `Task.with_activation`.
      details: what run.json records of it.
      runs: the runs of kbert that trained the weights; empty where a run resumes.
      trained_positions: of the weights that a checkpoint gives, see `RunDirectory.trained_positions`; else 0.

    Raises:
      ValueError: when the checkpoint or the teacher cannot be read, its encoder differs from the config's,
        `do_lower_case` contradicts a run that is there already, both the teacher and `init_checkpoint` are to
        give the weights, or the teacher has another vocabulary than `init`.
    """

    def __init__(self, config: TrainingConfig, init: Init, run_dir, task):
        self._config, self._run_dir, self._task = config, run_dir, task
        self._distillation: Any = config.distillation
        self._teacher, self._pretrained = None, None
        if config.distillation:
            self._teacher, init = _read_teacher(config.distillation, init)
        self._init, resume = init, run_to_resume(run_dir)
        self.vocabulary, self.encoder, self.pooling = init.vocabulary, config.encoder, None
        self.activation: str | None = None
        self.trained_positions = 0
        self.runs: list[RunDirectory] = []
        if resume:
            resume.require_casing(init.do_lower_case)
            # The given one, so that another than the run's is refused with the settings that differ.
            self.vocabulary, self.pooling = init.vocabulary or resume.vocabulary(), resume.task().pooling
            self.encoder = config.encoder or resume.config.encoder
            self.activation = getattr(resume.task(), "activation", None)
        elif init.checkpoint:
            read = read_checkpoint(init.checkpoint, init.do_lower_case, init.allow_unmatched)
            self._pretrained = read = with_layers(read, init.layers) if init.layers else read
            self.vocabulary, self.pooling = read.vocabulary, read.pooling
            self.encoder = model_loading.encoder_for_checkpoint(config.encoder, read)
            self.activation = read.activation
            if self.has_weights:
                self.runs = [*trained_runs(init.checkpoint)]
                self.trained_positions = read.trained_positions or read.encoder.max_position_embeddings
                if not config.is_updated(WORD_TABLE):
                    warn_of_equal_tokens(read)
            # A user's task may have no settings, or a pooling and no setting for it.
            is_open = getattr(getattr(task, "settings", None), "pooling", task.pooling) is None
            is_default = is_open and isinstance(task.pooling, PoolingConfig) and read.pooling is None
            if is_default and self.has_weights:
                warn_of_mean(read.source, read.first_format, "the training", "set task_settings.pooling")
        if self.encoder and config.dropout_prob is not None:
            self.encoder = dataclasses.replace(
                self.encoder,
                hidden_dropout_prob=config.dropout_prob,
                attention_probs_dropout_prob=config.dropout_prob,
            )
        if self._teacher and self.pooling is None and not resume and not self.has_weights:
            # Both read the same texts: with the prompts that the teacher was made for.
            self.pooling = self._teacher.checkpoint.pooling
        self.details = {
            "init_checkpoint": str(init.checkpoint) if init.checkpoint else None,
            "init_digest": content_digest(init.checkpoint, with_weights=not init.from_scratch),
        }
        if self._teacher:
            self.details["teacher_digest"] = self._teacher.digest

    @property
    def has_weights(self) -> bool:
        """Whether a checkpoint gives, or gave, the weights."""
        return self._init.has_weights

    def trained_positions_after(self, longest: int) -> int:
        """`trained_positions` of the run; `longest`: of its sequences, in tokens."""
        return max(self.trained_positions, longest * self._config.is_updated(POSITION_TABLE))

    def check_teacher(self, task, encoder, vocabulary, max_seq_length: int):
        """Refuses a student that cannot learn from the teacher, and another teacher than the run's.

        Args:
          task, encoder, vocabulary: the student's.
          max_seq_length: the longest sequence of the training.

        Raises:
          ValueError: as `Teacher.check_with` does, and when the teacher's content has changed.
        """
        if not self._teacher:
            return
        distillation, digest = self._distillation, self.details["teacher_digest"]
        self._teacher.check_with(task, distillation, encoder, vocabulary, max_seq_length)
        teacher = self._teacher.checkpoint
        warn_of_positions(teacher.source, teacher.encoder, teacher.trained_positions, max_seq_length)
        run_dir = self._run_dir
        known = RunDirectory(run_dir).details.get("teacher_digest") if holds_run(run_dir) else None
        if known not in (None, digest):
            raise ValueError(
                f"run_dir={run_dir} was started with another teacher: the content of "
                f"{distillation.teacher} has changed since (digest {digest}, was {known}). Restore it "
                "to resume the run, or choose a new folder."
            )
        logging.info("teacher: %s, %d layers", teacher.source, teacher.encoder.num_hidden_layers)

    def taught(self, task):
        """A task with the losses of the teacher; without one the task itself."""
        return distillation.Distillation(task, self._distillation, self._teacher) if self._teacher else task

    def set_weights(self, model):
        """Sets the weights of a new model, with a teacher those of the student in it; random ones stay."""
        if not self._pretrained or self._init.from_scratch:
            return
        is_reinitialized = functools.partial(
            self._config.is_reinitialized, num_hidden_layers=self.encoder.num_hidden_layers
        )
        student = model.student if self._teacher else model
        labels = getattr(self._task, "labels", ())
        model_loading.initialize(student, self._pretrained, labels, is_reinitialized)


def _read_teacher(config, init: Init) -> tuple[Teacher, Init]:
    """(the teacher, what its student starts from: its layers, or at least its vocabulary)."""
    if config.init_layers and init.checkpoint:
        raise ValueError(
            "distillation.init_layers takes the weights of the teacher: leave out init_checkpoint, or "
            "init_layers."
        )
    teacher = read_teacher(config, init.do_lower_case, init.allow_unmatched)
    if init.vocabulary:  # given, or that of records
        teacher.require_vocabulary(init.vocabulary)
    init = init.for_student(config)
    if not init.checkpoint:
        init = dataclasses.replace(init, vocabulary=teacher.checkpoint.vocabulary)
    return teacher, init
