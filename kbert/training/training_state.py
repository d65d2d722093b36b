"""Everything that training needs to resume: how it is written to a checkpoint and read back."""

from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from kbert.config import from_dict, to_dict
from kbert.runs import checkpoint
from kbert.runs.best_checkpoint import BestCheckpoint, indexed_step
from kbert.runs.resume import differing_keys
from kbert.runs.run_directory import RunDirectory


class TrainingState:
    """Weights, optimizer, step, position in the data, sums of the current log interval, best step so far.

    No random state is part of it: dropout, masks and the order of the data depend only on the seed (in the
    config) and the step.

    Args:
      run: the run directory.
      config: the run's config, kept with each checkpoint.
      weights: name -> variable of the model's weights, which a checkpoint holds in a file of their own.
      optimizer: the `Optimizer` of all variables that are trained.
      best: the `BestCheckpoint`.
      writes: whether this process is the one that writes.

    Attributes:
      step: the number of optimizer steps taken.
      saved_step: the step of the newest checkpoint, or None.
      progress: the `TrainingProgress.state` in the checkpoint that was read, or None.
    """

    def __init__(
        self, run: RunDirectory, config, weights: dict, optimizer, best: BestCheckpoint, writes=True
    ):
        self._run = run
        self._config, self._config_class = to_dict(config), type(config)
        self._keep = config.keep_checkpoints
        self._weights = weights
        self._optimizer = optimizer
        self._best = best
        self._writes = writes
        self._index_is_written = True
        self.step, self.progress = 0, None
        self.saved_step: int | None = None
        self._sums: Any = None  # a list of arrays when read from a checkpoint, a dict of tensors after steps

    def read(self, path):
        """Reads weights, step and everything else except the optimizer from a complete checkpoint.

        Raises:
          ValueError: when the checkpoint belongs to another config or model.
        """
        state = checkpoint.read_state(path)
        if "config" in state:
            # A setting that did not exist when the checkpoint was written counts as its default.
            recorded = to_dict(from_dict(self._config_class, state["config"], where=f"{path}: config"))
            differing = differing_keys(recorded, self._config)
            if differing:
                raise ValueError(
                    f"{path} belongs to another run; it differs in {'; '.join(differing)}. Repeat its "
                    "settings to resume it, or choose a new folder."
                )
        checkpoint.restore(path / checkpoint.WEIGHTS_FILE, self._weights)
        self.step = self.saved_step = state["step"]
        self.progress = state.get("progress")
        sums = state.get("interval_sums")
        self._sums = sums and [np.asarray(value) for value in sums]
        if "best" in state:
            self._best.restore(state["best"])
            self._best.observe_index(self._run.checkpoints, self.step, state["phase"])
            self._require_best_checkpoint()

    def _require_best_checkpoint(self):
        """Makes best.json agree with this state: it may name a later step, whose checkpoint was damaged."""
        directory, step = self._run.checkpoints, self._best.step
        if step is not None and not checkpoint.step_folder(directory, step).is_dir():
            logging.warning(
                "the best checkpoint so far, of step %d, no longer exists: the search starts again", step
            )
            self._best.forget()
        self.write_best_index()

    def write_best_index(self):
        """Writes the best step so far to best.json; only logs a warning if that fails."""
        if not self._writes:
            return
        try:
            self._best.write_index(self._run.checkpoints)
            self._index_is_written = True
        except OSError as error:
            self._index_is_written = False
            logging.warning(
                "BEST CHECKPOINT NOT RECORDED (%s): best.json in %s will be written when there is room; "
                "training continues.", error, self._run.checkpoints,
            )  # fmt: skip

    def delete_old(self):
        """Deletes what a new best checkpoint, recorded in best.json, no longer spares."""
        if self._writes and self._index_is_written:
            checkpoint.delete_old(self._run.checkpoints, self.step, self._keep, [self._best.step])

    def read_optimizer(self, path, step_variables: dict) -> dict:
        """Reads the optimizer, and the training step's own variables, from the same checkpoint.

        Returns:
          The state of the learning-rate schedule.
        """
        checkpoint.restore(path / checkpoint.OPTIMIZER_FILE, self._optimizer.slots() | step_variables)
        return checkpoint.read_state(path).get("schedule", {})

    def advance(self, steps: int, sums: dict):
        """Adds `steps` that were taken, and their sums of losses and metrics."""
        self.step += steps
        if self._sums is not None:
            # Sums from a checkpoint are NumPy arrays, in a list in the order of `tf.nest`.
            before, new = tf.nest.flatten(self._sums), tf.nest.flatten(sums)
            if [value.shape for value in before] == [value.shape for value in new]:
                total = [tf.cast(old, more.dtype) + more for old, more in zip(before, new, strict=True)]
                sums = tf.nest.pack_sequence_as(sums, total)
            else:
                logging.warning(
                    "The checkpoint is of a kbert that summed other metrics: the next line of them is of the "
                    "steps since then alone."
                )
        self._sums = sums

    def take_sums(self) -> dict:
        """Returns the sums since the last call and resets them."""
        sums, self._sums = self._sums, None
        return sums

    def write(
        self,
        phase,
        step_variables: dict,
        schedule_state: dict,
        progress_state: dict,
        ended: bool,
        must_succeed: bool,
    ):
        """Writes a checkpoint of this step, unless it has one already.

        Args:
          phase: the current `Phase`.
          step_variables: name -> variable of the training step.
          schedule_state: the state of the learning-rate schedule, ready for JSON.
          progress_state: the state of the `TrainingProgress`, ready for JSON.
          ended: whether the run takes no further step.
          must_succeed: whether a failure is an error. If not, it is a warning: a later one may succeed.

        Raises:
          OSError: when the checkpoint cannot be written and `must_succeed` is set.
          FloatingPointError: when the sums since the last check are not finite.
        """
        if not self._index_is_written:
            self.write_best_index()
        if self.saved_step == self.step:
            return
        sums = [np.asarray(value).tolist() for value in tf.nest.flatten(self._sums)] if self._sums else None
        if sums and not np.isfinite(np.concatenate([np.ravel(value) for value in sums])).all():
            raise FloatingPointError(
                f"a loss became non-finite by step {self.step}; nothing was saved. {self.remedy()}"
            )
        steps_in_phase = self.step - phase.first_step
        state = {
            "seed": self._config["seed"],
            "phase": phase.number,
            "step_in_phase": steps_in_phase,
            "examples_consumed": steps_in_phase * phase.config.train_batch_size,
            "interval_sums": sums,  # exact: float32 -> Python float -> JSON loses nothing
            "schedule": schedule_state,
            "best": self._best.state(),
            "progress": progress_state,
            "config": self._config,
            "ended": ended,
        }
        if self._writes:
            try:
                self._save_twice_at_most(step_variables, state)
            except OSError as error:
                if must_succeed:
                    raise
                is_gone = isinstance(error, FileNotFoundError)
                logging.warning(
                    "CHECKPOINT NOT WRITTEN at step %d (%s). Training continues, and the next one is written "
                    "when it is due.%s", self.step, error,
                    "" if is_gone else f" Older ones are complete. Make room in {self._run.checkpoints}.",
                )  # fmt: skip
                return
        self.saved_step = self.step

    def _save_twice_at_most(self, step_variables, state):
        """Tries once more after a failure: a network disk may fail for a moment only."""

        def save():
            self._run.require_there()
            checkpoint.save_checkpoint(
                self._run.checkpoints,
                self.step,
                self._weights,
                self._optimizer.slots() | step_variables,
                state,
                self._keep,
                spared=[indexed_step(self._run.checkpoints), self._best.step],
            )

        try:
            save()
        except OSError as error:
            logging.info("writing the checkpoint of step %d failed (%s); trying once more", self.step, error)
            save()

    def remedy(self) -> str:
        """How to go on after a number that is not finite: this run would come to it again."""
        way = "Other settings need a new run_dir"
        if not (kept := checkpoint.list_checkpoints(self._run.checkpoints)):
            return f"{way}; there is no checkpoint to begin from."
        return (
            f"{way}; init_checkpoint={self._run.path} begins from its last good checkpoint, of step "
            f"{checkpoint.parse_step(kept[-1])}, or with early stopping from its best one."
        )
