"""A training's teacher, if its config names one: read, compared with the student, recorded."""

import dataclasses

from absl import logging

from kbert.experiments.starting_point import Start, StartingPoint


def start_of_weights(distillation, start: Start) -> Start:
    """What the weights begin from: the start, or with `init_layers` the teacher's layers.

    Args:
      distillation: the training's `DistillationConfig`, or None.
      start: what the training was asked to start from.
    """
    if distillation is None or not distillation.init_layers:
        return start
    return dataclasses.replace(
        start, init_checkpoint=distillation.teacher, layers=distillation.init_layers, vocabulary=None
    )


class Teaching:
    """The teacher of a training, or none: then every method gives back what it is given.

    Args:
      config: the training's config.
      start: what the training starts from; its casing and allowances hold for the teacher too.

    Raises:
      ValueError: when the teacher is not named or cannot be read, or when both it and `init_checkpoint` are
        to give the student's weights.
    """

    def __init__(self, config, start: Start):
        self._config, self._teacher = config.distillation, None
        if self._config is None:
            return
        from kbert.distillation.teacher import read_teacher

        if self._config.init_layers and start.init_checkpoint:
            raise ValueError(
                "distillation.init_layers takes the weights of the teacher: leave out --init_checkpoint, or "
                "init_layers."
            )
        self._teacher = read_teacher(self._config, start.do_lower_case, start.allow_unmatched)
        self._digest = self._teacher.digest

    @property
    def details(self) -> dict:
        """What run.json records of the teacher."""
        return {"teacher_digest": self._digest} if self._teacher else {}

    def start(self, start: Start) -> Start:
        """What the student starts from: the teacher's layers, or at least its vocabulary.

        Raises:
          ValueError: when the start has another vocabulary than the teacher.
        """
        if not self._teacher:
            return start
        known = self._teacher.checkpoint.vocabulary
        if start.vocabulary:  # given, or that of records
            self._teacher.require_vocabulary(start.vocabulary)
        begins = start_of_weights(self._config, start)
        return begins if begins.init_checkpoint else dataclasses.replace(begins, vocabulary=known)

    def check(self, run_dir, task, encoder, vocabulary, max_seq_length: int):
        """Refuses a student that cannot learn from the teacher, and another teacher than the run's.

        Raises:
          ValueError: as `Teacher.check_with` does, and when the teacher's content has changed.
        """
        if not self._teacher:
            return
        from kbert.runs.run_directory import RunDirectory, holds_run

        self._teacher.check_with(task, self._config, encoder, vocabulary, max_seq_length)
        known = RunDirectory(run_dir).details.get("teacher_digest") if holds_run(run_dir) else None
        if known not in (None, self._digest):
            raise ValueError(
                f"--run_dir={run_dir} learns from another teacher: the content of "
                f"{self._config.teacher} has changed since (digest {self._digest}, was {known}). Restore it "
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

    def initialize(self, point: StartingPoint):
        """The function that sets the weights of a new model: those of the student in it."""
        if not self._teacher or point.initialize is None:
            return point.initialize
        return lambda model: point.initialize(model.student)
