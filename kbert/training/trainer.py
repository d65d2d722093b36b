"""The one training routine: a list of named steps over a task, its data and a run directory."""

import dataclasses
from collections.abc import Callable

import keras
import tensorflow as tf
from absl import logging

from kbert.config import TrainingConfig
from kbert.encoder import BertEncoder
from kbert.tasks.task import Task
from kbert.training import checkpoint
from kbert.training.distribution import require_whole_shares
from kbert.training.optimizer import AdamWeightDecay
from kbert.training.progress import Progress, forget_metrics_after
from kbert.training.run_directory import RunDirectory, trained_weights
from kbert.training.schedule import LinearWarmupDecay
from kbert.training.train_step import EvaluationStep, TrainStep, means


@dataclasses.dataclass(frozen=True)
class Plan:
    """What the trainer needs beyond the config.

    Args:
      num_train_steps: optimizer steps of the whole run.
      num_warmup_steps: how many of them warm up.
      make_train_batches: function from the number of examples consumed to an endless tf.data.Dataset of
        global batches.
      make_eval_batches: function to a finite dataset of global batches, or None.
      eval_every_steps: evaluate at multiples of this and at the end.
      initialize: called with the fresh model before training starts anew (not on a resume), for example
        to load an `init_checkpoint`.
    """

    num_train_steps: int
    num_warmup_steps: int
    make_train_batches: Callable[[int], tf.data.Dataset]
    make_eval_batches: Callable[[], tf.data.Dataset] | None
    eval_every_steps: int
    initialize: Callable[[keras.Model], None] | None = None


# What the newest training traced. Taking large traced graphs apart takes Python 10 seconds and more, at a
# moment when a script is about to end anyway.
_NEWEST_TRAINING = []


def train(task: Task, config: TrainingConfig, plan: Plan, run: RunDirectory, strategy) -> dict | None:
    """Trains to `plan.num_train_steps`, from the newest checkpoint if the run has one.

    Returns:
      The last evaluation's metrics, or None without evaluation data.

    Raises:
      FloatingPointError: when a loss or gradient norm is not finite.
      ValueError: when the batch does not divide by the replicas, or a checkpoint does not fit.
    """
    require_whole_shares(config.train_batch_size, strategy)
    keras.utils.set_random_seed(config.seed)
    with strategy.scope():
        model = task.build_model(BertEncoder(config.encoder, dtype=config.precision))
        optimizer = AdamWeightDecay(config.optimizer, trained_weights(model))
        global_step = tf.Variable(0, dtype=tf.int64, trainable=False, name="global_step")
    _restore_or_initialize(model, optimizer, global_step, plan, run)
    start = int(global_step.numpy())
    if start >= plan.num_train_steps:
        logging.info("%s is finished: %d steps of %d.", run.path, start, plan.num_train_steps)

    schedule = LinearWarmupDecay(config.optimizer.learning_rate, plan.num_train_steps, plan.num_warmup_steps)
    step_function = TrainStep(
        task, model, optimizer, schedule, global_step, strategy, config.jit_compile, config.seed
    )
    progress = Progress(run.metrics_file, plan.num_train_steps, config.train_batch_size, start)
    evaluate = _make_evaluation(task, model, plan, strategy, progress)
    batches = iter(_distribute(strategy, plan.make_train_batches(start * config.train_batch_size)))

    step, sums, metrics = start, None, None
    if evaluate and start and _evaluation_is_due(plan, start):
        # The run had ended, or was stopped between this checkpoint and its evaluation.
        forget_metrics_after(run.metrics_file, start, with_evaluation=True)
        metrics = evaluate(start)
    while step < plan.num_train_steps:
        stops = [config.log_every_steps, config.save_checkpoints_steps]
        if evaluate:
            stops.append(plan.eval_every_steps)
        ends = [step // every * every + every for every in stops]
        steps = min(config.steps_per_call, plan.num_train_steps - step, *(end - step for end in ends))
        new_sums = step_function.run(batches, tf.constant(steps, tf.int32))
        sums = new_sums if sums is None else tf.nest.map_structure(tf.add, sums, new_sums)
        step += steps

        last = step == plan.num_train_steps
        if last or step % config.log_every_steps == 0:
            # Reading the sums waits for the device; it also is the check for non-finite numbers, which
            # therefore comes before any checkpoint of the same step.
            values = _readable(task, means(sums))
            progress.train(step, values, float(schedule(tf.constant(step - 1))))
            sums = None
        if last or step % config.save_checkpoints_steps == 0:
            with progress.paused():
                _save(model, optimizer, step, config, run, sums)
        if evaluate and _evaluation_is_due(plan, step):
            with progress.paused():
                metrics = evaluate(step)
    _NEWEST_TRAINING[:] = [step_function, evaluate, model, optimizer, batches]
    return metrics


def _evaluation_is_due(plan, step):
    return step >= plan.num_train_steps or step % plan.eval_every_steps == 0


def evaluate_batches(task, step: EvaluationStep, batches) -> dict:
    """Means of losses and metrics over all batches, as `Task.summarize` reports them."""
    sums = None
    for batch in batches:
        new_sums = step.run(batch)
        sums = new_sums if sums is None else tf.nest.map_structure(tf.add, sums, new_sums)
    if sums is None:
        raise ValueError("the evaluation data hold no example.")
    return {
        name: value if isinstance(value, list) else float(value)
        for name, value in task.summarize(means(sums)).items()
    }


def _restore_or_initialize(model, optimizer, global_step, plan, run):
    checkpoints = checkpoint.list_checkpoints(run.checkpoints)
    if checkpoints:
        newest = checkpoints[-1]
        checkpoint.restore(newest / checkpoint.WEIGHTS_FILE, trained_weights(model))
        checkpoint.restore(newest / checkpoint.OPTIMIZER_FILE, optimizer.slots())
        global_step.assign(checkpoint.read_state(newest)["step"])
        forget_metrics_after(run.metrics_file, int(global_step.numpy()))
        logging.info("resuming from %s", newest)
    else:
        forget_metrics_after(run.metrics_file, 0)
        if plan.initialize:
            plan.initialize(model)


def _make_evaluation(task, model, plan, strategy, progress):
    if plan.make_eval_batches is None:
        return None
    step_function = EvaluationStep(task, model, strategy)

    def evaluate(step):
        batches = _distribute(strategy, plan.make_eval_batches())
        metrics = evaluate_batches(task, step_function, batches)
        progress.evaluate(step, metrics)
        return metrics

    return evaluate


def _save(model, optimizer, step, config, run, sums):
    if sums is not None and not all(np_finite(value) for value in means(sums).values()):
        raise FloatingPointError(
            f"a loss became non-finite by step {step}; nothing was saved. The last good checkpoint is kept."
        )
    state = {"examples_consumed": step * config.train_batch_size}
    checkpoint.save_checkpoint(
        run.checkpoints, step, trained_weights(model), optimizer.slots(), state, config.keep_checkpoints
    )


def np_finite(value) -> bool:
    return bool(tf.reduce_all(tf.math.is_finite(value)))


def _readable(task, values):
    """Losses and metrics of training as floats; tables belong to evaluations."""
    return {name: float(v) for name, v in task.summarize(values).items() if not isinstance(v, list)}


def _distribute(strategy, dataset):
    options = tf.data.Options()
    # Sharding by file would need as many shards as workers, and would change the order of the data.
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    options.deterministic = True
    return strategy.experimental_distribute_dataset(dataset.with_options(options))
