"""The one training routine: trains a task on its data, phase by phase, and writes to a run directory."""

import contextlib
import functools
import gc
import itertools
import math
import random
import shutil
import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from absl import logging
from tensorflow.python.eager import context

from kbert.checkpoints.model_variables import require_all_saved, require_parts
from kbert.cli.progress import activity
from kbert.cli.signals import StoppedBySignal, StopSignal
from kbert.config import TrainingConfig
from kbert.encoder import BertEncoder
from kbert.full_memory import naming_full_memory
from kbert.input_pipelines.pipeline_errors import raising_own_errors
from kbert.runs import checkpoint
from kbert.runs.base_weights import base_file, write_base
from kbert.runs.best_checkpoint import BestCheckpoint
from kbert.runs.metrics_file import MetricsFile
from kbert.runs.resume import settings_of_workers
from kbert.runs.run_directory import RunDirectory, trained_weights
from kbert.runs.run_file import holds_run
from kbert.tasks.task import Task
from kbert.training.devices.distribution import (
    agreed,
    chief_first,
    distribute,
    is_chief,
    log_shares,
    naming_lost_workers,
    require_alike,
    wait_for_all,
)
from kbert.training.devices.jit import needs_whole_batches, resolve_jit
from kbert.training.evaluation_step import EvaluationStep, evaluate_batches, means, with_prefixed
from kbert.training.measuring.progress import make_progress
from kbert.training.measuring.step_work import StepWork
from kbert.training.optimizers import make_optimizer
from kbert.training.optimizers.optimizer import require_found
from kbert.training.optimizers.schedule import make_schedule
from kbert.training.padding import packing, resolve_packing
from kbert.training.phases import Phase, Plan
from kbert.training.train_step import TrainStep
from kbert.training.training_state import TrainingState

_LONGEST_UNSAVED = 1800.0  # seconds, looked at after each call of steps; the call after that saves
_SECONDS_TO_SEE = 10.0  # until a file of another machine shows on a network disk


@contextlib.contextmanager
def open_run(strategy, path, config: TrainingConfig, details: dict, vocabulary):
    """Opens a run directory and locks it, so that no other process trains in it meanwhile.

    A new folder is removed again when the block ends with a ValueError, a MemoryError or a KeyboardInterrupt
    before the first line of metrics and the first checkpoint.

    Args:
      strategy: a tf.distribute strategy. With several workers, the chief makes and locks the folder.
      path, config, details, vocabulary: see `RunDirectory.create_or_resume`.

    Raises:
      ValueError, OSError: as `RunDirectory.create_or_resume` and `RunDirectory.lock` do.
      ConnectionError: within the block, when the connection to another worker is lost.
    """

    is_new = not holds_run(path)

    def open_and_lock():
        if not is_chief(strategy):
            _require_run_of_chief(path)
        run = RunDirectory.create_or_resume(path, config, details, vocabulary)
        return run, run.lock() if is_chief(strategy) else contextlib.nullcontext()

    run, lock = chief_first(strategy, open_and_lock)

    def resume_hint():
        kept = checkpoint.list_checkpoints(run.checkpoints)
        start = f"step {checkpoint.parse_step(kept[-1])}" if kept else "the start: there is no checkpoint yet"
        return f"Start the same command again on all workers: training continues from {start}."

    with lock, naming_lost_workers(strategy, resume_hint):
        try:
            require_alike(strategy, settings_of_workers(config, details))
            yield run
        except (ValueError, MemoryError, KeyboardInterrupt):
            if is_new and is_chief(strategy) and not (run.metrics_file.exists() or run.checkpoints.exists()):
                shutil.rmtree(run.path, ignore_errors=True)
            raise


def _require_run_of_chief(path):
    """Raises ValueError on a worker that does not see the folder which the chief has just opened."""
    last = time.monotonic() + _SECONDS_TO_SEE
    while not holds_run(path):
        if time.monotonic() > last:
            raise ValueError(
                f"run_dir={path} holds no run on this worker, although the chief has opened it; give all "
                "workers the same folder, on storage that all of them see."
            )
        time.sleep(0.1)


def train(task: Task, config: TrainingConfig, plan: Plan, run: RunDirectory, strategy) -> dict | None:
    """Trains through all phases of `plan`, from the newest complete checkpoint if the run has one.

    Args:
      task: the `Task`.
      config: the run's config.
      plan: the data and steps of each phase.
      run: where everything is written.
      strategy: a tf.distribute strategy.

    Returns:
      The metrics of the last evaluation; with early stopping those of the best one. None when there are no
      evaluation data.

    Raises:
      FloatingPointError: when a loss or gradient norm is not finite.
      MemoryError: when a step or an evaluation does not fit into memory.
      OSError: when the last checkpoint cannot be written.
      StoppedBySignal: after a signal of `StopSignal.listening`, once everything is saved.
      ValueError: when the batch size is not divisible by the number of replicas, when there are checkpoints
        but none can be read, or when the texts of a batch do not fit into `packed_rows`.
    """
    gc.collect()  # a trainer holds itself, and would keep its weights and moments beside those of this one
    fits = naming_full_memory("the training", _smaller_steps(task, config))
    with StopSignal().listening() as stop, raising_own_errors(), _own_random_numbers(), fits:
        return Trainer(task, config, plan, run, strategy, stop).run_phases()


def _smaller_steps(task, config):
    """What makes the steps of a training smaller, of which the first settings may change when it goes on."""
    settings = ["more gradient_accumulation_steps"] * (not task.coupled)
    settings += ["recompute_activations=true"] * (not getattr(config, "freeze_encoder", False))
    goes_on = f"the same run goes on with {' or '.join(settings)} (--override); " if settings else ""
    return f"{goes_on}another one may have a smaller train_batch_size or shorter sequences (docs/runs.md)"


def _is_no_warning(record):
    return record.levelname != "WARNING"


@contextlib.contextmanager
def _own_random_numbers():
    """Gives the caller's random numbers back at the end: who draws the settings of many runs in one program
    would draw the same after each."""
    drawn, drawn_by_numpy, eager = random.getstate(), np.random.get_state(), context.context()
    seed, drawn_by_tensorflow = context.global_seed(), getattr(eager, "_rng", None)
    try:
        yield
    finally:
        random.setstate(drawn)
        np.random.set_state(drawn_by_numpy)
        tf.random.set_seed(seed)  # or None: TensorFlow draws as if there had been no seed
        if seed is not None:
            eager._rng = drawn_by_tensorflow  # `set_seed` begins its draws anew


class Trainer:
    """One run. The methods stand in the order in which they run."""

    def __init__(self, task, config, plan, run, strategy, stop):
        self._task, self._config, self._plan, self._run = task, config, plan, run
        self._strategy, self._stop = strategy, stop
        self._chief = is_chief(strategy)
        self._saved_at, self._is_late = time.monotonic(), False
        keras.utils.set_random_seed(config.seed)
        self._packed = resolve_packing(task, [phase.config for phase in plan.phases], strategy)
        with strategy.scope():
            encoder = BertEncoder(
                config.encoder,
                dtype=config.dtype_policy,
                packed=self._packed,
                recompute=config.recompute_activations,
                lora=config.adapters,
            )
            self._model = task.build_model(encoder)
            weights = trained_weights(self._model)
            if not checkpoint.list_checkpoints(run.checkpoints):  # else it goes on, as it began
                require_found(config.optimizer.exclude_from_weight_decay, weights)
            updated = {name: v for name, v in weights.items() if config.is_updated(name)}
            if self._chief and len(updated) < len(weights):
                logging.info("training %s of %s parameters", _count(updated), _count(weights))
            own = {name: v for name, v in weights.items() if not task.is_training_only(name)}
            require_parts(task, own)
            require_all_saved(task, getattr(self._model, "student", self._model))  # a teacher is read anew
            self._kept_once = {name: v for name, v in own.items() if not config.is_in_checkpoints(name)}
            self._optimizer = make_optimizer(config.optimizer, updated)
            self._global_step = tf.Variable(0, dtype=tf.int64, trainable=False, name="global_step")
        metric = config.best_metric or task.best_metric
        self._best = BestCheckpoint(metric, task.higher_is_better(metric), plan.early_stopping_patience)
        weights = {name: v for name, v in own.items() if config.is_in_checkpoints(name)}
        self._state = TrainingState(run, config, weights, self._optimizer, self._best, self._chief)
        self._metrics_file = MetricsFile(run.metrics_file) if self._chief else None
        self._train_step = self._metrics = self._progress = None
        self._evaluation_step: Any = None
        self._has_warned = False

    def run_phases(self):
        """Trains from the current step of the run to its end; returns the metrics to report."""
        path = self._resume_or_initialize()
        for phase in self._plan.phases_from(self._state.step):
            self._begin_phase(phase, path)
            if path and self._evaluation_step and self._evaluation_is_due():
                # The run was complete, or it was stopped between this checkpoint and its evaluation.
                self._evaluate(replaces_line=True)
            path = None
            while not self._has_ended():
                self._take_steps()
            self._say_end_of_time()
        wait_for_all(self._strategy)  # a worker that ends earlier would break the connections of the others
        if self._plan.early_stopping_patience and self._best.step is not None:
            logging.info("the best checkpoint is that of step %d", self._best.step)
            return self._best.metrics
        return self._metrics

    def _resume_or_initialize(self):
        """Reads the newest complete checkpoint and returns its path, or sets the weights to start from."""
        checkpoints, state = self._run.checkpoints, self._state
        path = chief_first(
            self._strategy, lambda: checkpoint.newest_whole_checkpoint(checkpoints, set_aside=self._chief)
        )
        if path:
            state.read(path)
            if self._kept_once:
                base = base_file(self._run.path, self._run.details.get("init_checkpoint"))
                checkpoint.restore(base, self._kept_once)
            self._global_step.assign(state.step)
            logging.info("resuming from %s", path)
            if state.step >= self._plan.num_train_steps:
                logging.info("%s is finished: %d steps.", self._run.path, state.step)
        else:
            if self._plan.initialize:
                self._plan.initialize(self._model)
            if self._kept_once and self._chief:
                write_base(self._run.path, self._kept_once)
        require_alike(self._strategy, {"step to go on from": state.step})
        if self._chief:
            num_lines = state.progress and state.progress["num_lines"]
            self._metrics_file.restore(state.step, num_lines, self._best.recorded())
        return path

    def _begin_phase(self, phase: Phase, path):
        """Makes schedule, training step, evaluation and data of a phase; `path`: the checkpoint or None."""
        self._phase = phase
        config, step = phase.config, self._state.step
        log_shares(config, self._strategy)
        with self._strategy.scope():
            self._schedule = make_schedule(config.optimizer, phase.num_train_steps, phase.num_warmup_steps)
        self._jit_compile, self._is_traced = resolve_jit(config, self._strategy), False
        before, self._train_step = self._train_step, TrainStep(
            self._task, self._model, self._optimizer, self._learning_rate, self._global_step, self._strategy,
            self._jit_compile, self._config.seed, config.gradient_accumulation_steps,
            self._config.precision, self._plan.first_update(phase.number), self._share_done,
        )  # fmt: skip
        schedule_state = self._restore_optimizer(path, before)
        self._progress = make_progress(
            self._config, self._plan, phase.number, self._run, self._strategy, self._metrics_file, step,
            before=self._progress.state(step) if self._progress else self._state.progress,
        )  # fmt: skip
        self._make_evaluation()
        consumed = (step - phase.first_step) * config.train_batch_size
        self._read_again = consumed % phase.rows.num_rows
        make_batches = functools.partial(phase.train_batches, consumed)
        for_replica = self._packing(config.gradient_accumulation_steps)
        self._batches = iter(distribute(self._strategy, make_batches, for_replica))
        self._schedule.start(schedule_state)  # a frozen encoder has worked: it would use up a budget of time

    def _learning_rate(self, step):
        return self._schedule(step - self._phase.first_step)

    def _share_done(self, step):
        return self._schedule.progress(step - self._phase.first_step)

    def _restore_optimizer(self, path, before):
        """Takes the optimizer's state from the checkpoint, or from the training step of the phase before.

        Returns:
          The state of the schedule in the checkpoint, else {}.
        """
        variables = self._train_step.state()
        if path:
            return self._state.read_optimizer(path, variables)
        if self._phase.fresh_optimizer:
            for slot in self._optimizer.slots().values():
                slot.assign(tf.zeros_like(slot))
        elif before:
            for name, value in before.state().items():
                variables[name].assign(value.read_value())
        return {}

    def _make_evaluation(self):
        self._evaluation_step = None
        if self._phase.evaluations:
            self._evaluation_step = EvaluationStep(self._task, self._model, self._strategy, self._jit_compile)
            self._check_names()

    def _check_names(self):
        """Refuses names that go wrong at an evaluation, by the metrics of a batch, before the first step."""
        data = self._phase.evaluations[""]
        batches = self._evaluation_batches(data.rows)
        if hasattr(batches, "element_spec"):  # as in every evaluation: rounding depends on the trace
            self._evaluation_step.trace(batches.element_spec)
        logger = logging.get_absl_logger()
        logger.addFilter(_is_no_warning)  # the first rows of a sorted file say little about all its labels
        try:
            metrics = self._compute_metrics(itertools.islice(batches, 1), data)
        finally:
            logger.removeFilter(_is_no_warning)
        if self._best.metric not in metrics:  # one of a group of examples, of which this batch has none
            metrics = self._compute_metrics(batches, data)
        self._best.require_metric(self._scores(metrics))
        named = metrics
        for prefix in filter(None, self._phase.evaluations):
            named = with_prefixed(named, prefix, metrics)

    def _packing(self, num_micro_batches=1, whole_batches=False):
        if not self._packed:
            return None
        return packing(self._phase.config, self._strategy, num_micro_batches, whole_batches)

    def _take_steps(self):
        """Calls the training step once, then logs, saves and evaluates if it is time to."""
        state, config = self._state, self._config
        steps = self._next_num_steps()
        with activity(self._description(steps)):
            state.advance(steps, self._train_step.run(self._batches, tf.constant(steps, tf.int32)))
        self._is_traced = True
        self._progress.steps_done(state.step)
        learning_rate = None
        if self._schedule.seconds_left() is not None:  # by the clock, which goes on now
            learning_rate = self._learning_rate(tf.constant(state.step - 1))
        self._schedule.tick(steps)

        ended = self._has_ended()
        may_stop = self._plan.early_stopping_patience and self._evaluation_step and self._evaluation_is_due()
        if ended or may_stop or state.step % config.log_every_steps == 0:
            # Reading the sums waits for the device. Here non-finite numbers are found too, so that the check
            # comes before any checkpoint of the same step.
            self._log(means(state.take_sums()), learning_rate)
        if ended or self._is_late or state.step % config.save_checkpoints_steps == 0:
            self._save(must_succeed=self._run_has_ended())
            self._schedule.tick()
        self._stop_if_asked()
        if self._evaluation_step and self._evaluation_is_due():
            self._evaluate()
            self._schedule.tick()
            self._stop_if_asked()
        if not ended and self._schedule.seconds_left() == 0:  # by what the checkpoint or evaluation took
            if sums := state.take_sums():
                self._log(means(sums), learning_rate)
            self._save_anew()

    def _say_end_of_time(self):
        """Logs how often a training whose learning rate follows the time has read its rows, which nobody
        knows before; warns where its steps ended it."""
        left = self._schedule.seconds_left()
        if left is None or not self._chief:
            return
        steps, rows = self._state.step - self._phase.first_step, self._phase.rows.num_rows
        logging.info(
            "%d steps have read each of the %d rows of the training %.3g times",
            steps, rows, steps * self._phase.config.train_batch_size / rows,
        )  # fmt: skip
        if steps == 1 and not left and self._config.optimizer.budget_warmup_proportion:
            logging.warning(
                "the time was over after one step, whose learning rate is 0, so nothing was learned: give "
                "more than optimizer.train_minutes=%g.",
                self._config.optimizer.train_minutes,
            )
        if left and not self._best.patience_is_spent:
            logging.warning(
                "the training took all its steps with %.1f of %g minutes left, so it ended at a learning "
                "rate of %.3g: give it more steps or epochs, or a smaller optimizer.train_minutes.",
                left / 60, self._config.optimizer.train_minutes, self._learning_rate(self._state.step),
            )  # fmt: skip

    def _next_num_steps(self):
        """Steps of the next call: `steps_per_execution`, or fewer by an interval or the schedule."""
        step, config = self._state.step, self._config
        intervals = (config.log_every_steps, config.save_checkpoints_steps)
        ends = [self._phase.last_step, *(step // every * every + every for every in intervals)]
        if self._evaluation_step:
            ends.append(self._plan.next_evaluation(step))
        return self._schedule.limit(min(config.steps_per_execution, *(end - step for end in ends)))

    def _description(self, steps):
        first = self._state.step + 1
        again = f"reading past {self._read_again:,} examples of this epoch, " if self._read_again else ""
        tracing = "" if self._is_traced else f"{again}tracing and compiling the step, then "
        return f"{tracing}steps {first} to {first + steps - 1}{self._total_steps_text()}"

    def _total_steps_text(self):
        """ " of N"; "" where time ends the training, which then never reaches N."""
        ends_by_time = self._schedule.seconds_left() is not None
        return "" if ends_by_time else f" of {self._plan.num_train_steps}"

    def _has_ended(self):
        """Whether this phase has ended: all steps taken, time budget used up, or stopped early."""
        is_out_of_time = self._schedule.seconds_left() == 0
        return self._state.step >= self._phase.last_step or is_out_of_time or self._best.patience_is_spent

    def _run_has_ended(self):
        return self._has_ended() and self._phase is self._plan.phases[-1]

    def _log(self, values, learning_rate):
        """Logs sums; `learning_rate`: that of the last step, None where the step alone tells it."""
        step, work = self._state.step, StepWork(*values.pop("step_work").tolist())
        # Without tables, which only evaluations report.
        metrics = {k: float(v) for k, v in self._task.summarize(values).items() if not isinstance(v, list)}
        if learning_rate is None:
            learning_rate = self._learning_rate(tf.constant(step - 1))
        self._require_own_run()
        try:
            self._progress.train(step, metrics, float(learning_rate), work, self._schedule.seconds_left())
        except FloatingPointError as error:
            raise FloatingPointError(f"{error} {self._state.remedy()}") from None

    def _evaluation_is_due(self):
        """At the end of the phase, and at each interval of which at least half lies before the end."""
        step, plan = self._state.step, self._plan
        is_due = step > 0 and plan.next_evaluation(step - 1) == step
        is_between = is_due and 2 * (self._phase.last_step - step) >= plan.eval_every_steps
        return is_between or self._has_ended()

    def _evaluate(self, replaces_line=False):
        step, metrics, had_ended = self._state.step, {}, self._has_ended()
        with self._progress.paused("evaluation", self._plan.eval_every_steps):
            for prefix, data in self._phase.evaluations.items():
                further = self._compute_metrics(self._evaluation_batches(data.rows), data)
                metrics = with_prefixed(metrics, prefix, further)
        self._metrics = metrics
        self._require_own_run()
        if replaces_line and self._chief:
            self._metrics_file.forget_after(step, with_evaluation=True)
        self._progress.evaluate(step, metrics)
        before = self._best.state()
        if self._chief and not self._has_warned and (sentence := self._best.why_none(self._scores(metrics))):
            self._has_warned = True
            logging.warning("%s", sentence)
        if self._best.observe(step, metrics, self._phase.number):
            self._save(must_succeed=False)
            if wait_for_all(self._strategy, failed=self._state.saved_step != step):
                self._best.without_checkpoint(before)
            else:
                self._state.write_best_index()
                self._state.delete_old()
        if self._best.patience_is_spent and not had_ended:
            logging.info("stopping early: no better %s since step %d", self._best.metric, self._best.step)
            self._save_anew()

    def _scores(self, metrics):
        return {name: value for name, value in metrics.items() if self._task.is_score(name)}

    def _evaluation_batches(self, rows):
        with_fill = needs_whole_batches(self._phase.config, self._strategy)
        make_batches = functools.partial(self._phase.evaluation_batches, rows, with_fill)
        return distribute(self._strategy, make_batches, self._packing(whole_batches=True))

    def _compute_metrics(self, batches, data):
        examples, owners = data.examples, data.rows.owners
        return evaluate_batches(
            self._task, self._evaluation_step, batches, examples, owners, after_batch=self._stop_if_asked
        )

    def _require_own_run(self):
        if self._chief:
            self._run.require_own()

    def _save_anew(self):
        """Replaces the checkpoint of this step, which says that there are steps left."""
        self._state.saved_step = None
        self._save(must_succeed=True)

    def _save(self, must_succeed):
        self._require_own_run()
        self._phase.require_unchanged_rows()
        every = self._config.save_checkpoints_steps
        with self._progress.paused("checkpoint", every), activity(f"checkpoint of step {self._state.step}"):
            self._state.write(
                self._phase, self._train_step.state(), self._schedule.state(),
                self._progress.state(self._state.step), self._run_has_ended(), must_succeed,
            )  # fmt: skip
            if self._chief:
                self._metrics_file.bring_to_disk()
        self._saved_at = time.monotonic()

    def _stop_if_asked(self):
        is_late = time.monotonic() - self._saved_at > _LONGEST_UNSAVED
        number, self._is_late = agreed(self._strategy, self._stop.received, is_late)
        if not number:
            return
        what = "there was nothing to save, and the same command begins anew"
        if self._state.step:  # a checkpoint of no step would be evaluated
            self._save(must_succeed=True)
            what = f"everything is saved in {self._run.path}, and the same command continues from there"
        wait_for_all(self._strategy)
        raise StoppedBySignal(number, f"at step {self._state.step}{self._total_steps_text()}; {what}.")


def _count(weights):
    """The number of parameters, for people."""
    return f"{sum(math.prod(variable.shape) for variable in weights.values()):,}"
