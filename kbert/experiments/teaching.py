"""The teacher of a run, if its config names one: read, compared with the student, recorded."""

import dataclasses

from absl import logging

from kbert.experiments.init import Init, InitialModel
from kbert.runs.run_file import holds_run


class Teaching:
    """The teacher of a run, or none: then every method returns its arguments unchanged.

    Args:
      config: the run's config.
      init: what the run starts from; its casing and allowances hold for the teacher too.

    Attributes:
      init: what the student starts from: the teacher's layers, or at least its vocabulary.
      details: what run.json records of the teacher.

    Raises:
      ValueError: when the teacher is not named or cannot be read, when both it and `init_checkpoint` are to
        give the student's weights, or when `init` has another vocabulary.
    """

    def __init__(self, config, init: Init):
        self._config, self._teacher = config.distillation, None
        self.init, self.details = init, {}
        if self._config is None:
            return
        from kbert.distillation.teacher import read_teacher

        if self._config.init_layers and init.checkpoint:
            raise ValueError(
                "distillation.init_layers takes the weights of the teacher: leave out init_checkpoint, or "
                "init_layers."
            )
        self._teacher = read_teacher(self._config, init.do_lower_case, init.allow_unmatched)
        if init.vocabulary:  # given, or that of records
            self._teacher.require_vocabulary(init.vocabulary)
        self.init = init.for_student(self._config)
        if not self.init.checkpoint:
            self.init = dataclasses.replace(self.init, vocabulary=self._teacher.checkpoint.vocabulary)
        self.details = {"teacher_digest": self._teacher.digest}

    def check(self, run_dir, task, encoder, vocabulary, max_seq_length: int):
        """Refuses a student that cannot learn from the teacher, and another teacher than the run's.

        Raises:
          ValueError: as `Teacher.check_with` does, and when the teacher's content has changed.
        """
        if not self._teacher:
            return
        from kbert.runs.run_directory import RunDirectory

        self._teacher.check_with(task, self._config, encoder, vocabulary, max_seq_length)
        digest = self.details["teacher_digest"]
        known = RunDirectory(run_dir).details.get("teacher_digest") if holds_run(run_dir) else None
        if known not in (None, digest):
            raise ValueError(
                f"run_dir={run_dir} was started with another teacher: the content of "
                f"{self._config.teacher} has changed since (digest {digest}, was {known}). Restore it "
                "to resume the run, or choose a new folder."
            )
        source = self._teacher.checkpoint.source
        logging.info("teacher: %s, %d layers", source, self._teacher.encoder.num_hidden_layers)

    def task(self, task):
        """The task to train: with the losses of the teacher."""
        if not self._teacher:
            return task
        from kbert.distillation.distillation import Distillation

        return Distillation(task, self._config, self._teacher)

    def set_weights(self, initial: InitialModel):
        """The function that sets the weights of a new model: those of the student in it."""
        if not self._teacher or initial.set_weights is None:
            return initial.set_weights
        return lambda model: initial.set_weights(model.student)
