"""All that training needs to go on where it was, on its way to a checkpoint and back."""

import hashlib
import json
import time
from typing import Any

import numpy as np
import tensorflow as tf
from absl import logging

from kbert.config import from_dict, to_dict
from kbert.runs import checkpoint
from kbert.runs.best_checkpoint import BestCheckpoint, indexed_step
from kbert.runs.run_directory import RunDirectory, differing_keys, trained_weights


class TrainingState:
    """Weights, optimizer, step, position in the data, sums of the open log interval, and the best so far.

    There is no random state among it: dropout, masks and the order of the data are functions of the seed (in
    the config) and the step.

    Args:
      run: the run directory.
      config: the run's config, kept with each checkpoint.
      model: the Keras model.
      optimizer: the optimizer over its variables, with `slots()`.
      best: the `BestCheckpoint`.
      writes: whether this process is the one that writes.
      clock: seconds; an argument so that tests can set it.

    Attributes:
      step: optimizer steps taken.
      saved_step: that of the newest checkpoint.
      progress: what `TrainingProgress.state` gave when the checkpoint that was read was written, or None.
    """

    def __init__(
        self,
        run: RunDirectory,
        config,
        model,
        optimizer,
        best: BestCheckpoint,
        writes=True,
        clock=time.monotonic,
    ):
        self._run = run
        self._config, self._config_class = to_dict(config), type(config)
        self._keep = config.keep_checkpoints
        self._weights = trained_weights(model)
        self._optimizer = optimizer
        self._best = best
        self._writes = writes
        self._clock = clock
        self._elapsed, self._began = 0.0, clock()
        self._index_is_written = True
        self.step, self.progress = 0, None
        self.saved_step: int | None = None
        self._sums: Any = None  # a checkpoint's are a list of arrays, those of steps a dict of tensors

    @property
    def elapsed_seconds(self) -> float:
        """Time in training, of all processes that took part one after the other."""
        return self._elapsed + self._clock() - self._began

    def read(self, path):
        """Takes up weights, step and everything but the optimizer from a checkpoint that is whole.

        Raises:
          ValueError: when it belongs to another config or model.
        """
        state = checkpoint.read_state(path)
        if "config" in state:
            # A setting that is younger than the checkpoint had its default when that was written.
            was = to_dict(from_dict(self._config_class, state["config"], where=f"{path}: config"))
            differing = differing_keys(was, self._config)
            if differing:
                raise ValueError(
                    f"{path} belongs to another run; it differs in {'; '.join(differing)}. Repeat its "
                    "settings to resume it, or choose a new folder."
                )
        checkpoint.restore(path / checkpoint.WEIGHTS_FILE, self._weights)
        self.step = self.saved_step = state["step"]
        self._elapsed, self._began = state.get("elapsed_seconds", 0.0), self._clock()
        self.progress = state.get("progress")
        sums = state.get("interval_sums")
        self._sums = sums and [np.asarray(value) for value in sums]
        if "best" in state:
            self._best.restore(state["best"])
            self._require_best_checkpoint()

    def _require_best_checkpoint(self):
        """Brings best.json to where this state is: it may come from later steps, which were damaged."""
        directory, step = self._run.checkpoints, self._best.step
        if step is not None and not checkpoint.folder_of(directory, step).is_dir():
            logging.warning(
                "the best checkpoint so far, of step %d, is no longer there: beginning to look anew", step
            )
            self._best.forget()
        self.write_best_index()

    def write_best_index(self):
        """Brings best.json to what is best now; a warning where it cannot be written."""
        if not self._writes:
            return
        try:
            self._best.write_index(self._run.checkpoints)
            self._index_is_written = True
        except OSError as error:
            self._index_is_written = False
            logging.warning(
                "BEST CHECKPOINT NOT NAMED (%s): best.json in %s is written when there is room; training "
                "goes on.", error, self._run.checkpoints,
            )  # fmt: skip

    def read_optimizer(self, path, step_variables: dict) -> dict:
        """Takes up the optimizer, and the training step's own variables, from the same checkpoint.

        Returns:
          The state of the learning rate's schedule.
        """
        checkpoint.restore(path / checkpoint.OPTIMIZER_FILE, self._optimizer.slots() | step_variables)
        return checkpoint.read_state(path).get("schedule", {})

    def advance(self, steps: int, sums: dict):
        """Notes steps that were taken, and their sums of losses and metrics."""
        self.step += steps
        if self._sums is not None:
            # Those of a checkpoint are NumPy's, in a list in the order of `tf.nest`.
            before = zip(tf.nest.flatten(self._sums), tf.nest.flatten(sums), strict=True)
            total = [tf.cast(old, new.dtype) + new for old, new in before]
            sums = tf.nest.pack_sequence_as(sums, total)
        self._sums = sums

    def take_sums(self) -> dict:
        """The sums since the last call; they begin anew."""
        sums, self._sums = self._sums, None
        return sums

    def write(
        self,
        phase_number: int,
        phase,
        step_variables: dict,
        schedule_state: dict,
        progress_state: dict,
        must_succeed: bool,
    ):
        """Writes a checkpoint of this step, unless there is one.

        Args:
          phase_number, phase: the `Phase` at work.
          step_variables: name -> variable of the training step.
          schedule_state: JSON-ready, of the learning rate's schedule.
          progress_state: JSON-ready, of the `TrainingProgress`.
          must_succeed: whether failing is an error, or a warning because a later checkpoint may succeed.

        Raises:
          OSError: when it cannot be written and must be.
          FloatingPointError: when the sums since the last check hold a number that is none.
        """
        if not self._index_is_written:
            self.write_best_index()
        if self.saved_step == self.step:
            return
        sums = [np.asarray(value).tolist() for value in tf.nest.flatten(self._sums)] if self._sums else None
        if sums and not np.isfinite(np.concatenate([np.ravel(value) for value in sums])).all():
            raise FloatingPointError(
                f"a loss became non-finite by step {self.step}; nothing was saved. {self.what_is_kept()}"
            )
        steps_in_phase = self.step - phase.first_step
        state = {
            "seed": self._config["seed"],
            "phase": phase_number,
            "step_in_phase": steps_in_phase,
            "examples_consumed": steps_in_phase * phase.config.train_batch_size,
            "interval_sums": sums,  # a float32 is exactly a Python float, and that its JSON form
            "schedule": schedule_state,
            "best": self._best.state(),
            "progress": progress_state,
            "elapsed_seconds": round(self.elapsed_seconds, 3),
            "config": self._config,
            "config_hash": config_hash(self._config),
        }
        if self._writes:
            try:
                self._save_twice_at_most(step_variables, state)
            except OSError as error:
                if must_succeed:
                    raise
                logging.warning(
                    "CHECKPOINT NOT WRITTEN at step %d (%s). The older ones are whole; training goes on and "
                    "tries again at the next one. Make room in %s.", self.step, error, self._run.checkpoints,
                )  # fmt: skip
                return
        self.saved_step = self.step

    def _save_twice_at_most(self, step_variables, state):
        """A second try costs seconds, and saves what a network disk that only stumbled would have cost."""
        try:
            self._save(step_variables, state)
        except OSError as error:
            logging.info("the checkpoint of step %d failed (%s); trying once more", self.step, error)
            self._save(step_variables, state)

    def _save(self, step_variables, state):
        checkpoint.save_checkpoint(
            self._run.checkpoints,
            self.step,
            self._weights,
            self._optimizer.slots() | step_variables,
            state,
            self._keep,
            spared=[indexed_step(self._run.checkpoints), self._best.step],
        )

    def what_is_kept(self) -> str:
        """A sentence on what is left to go on from."""
        there = checkpoint.list_checkpoints(self._run.checkpoints)
        if not there:
            return "There is no checkpoint yet: it begins anew."
        return f"The last good checkpoint is kept: step {checkpoint.step_of(there[-1])}."


def config_hash(config: dict) -> str:
    """SHA-256 of the JSON form of a config, with its keys sorted."""
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
