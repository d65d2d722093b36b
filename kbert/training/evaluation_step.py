"""The evaluation step, the same under every strategy, and the metrics computed from its results."""

from collections.abc import Callable, Iterable

import numpy as np
import tensorflow as tf

from kbert.cli.progress import Progress, activity
from kbert.full_memory import naming_full_memory
from kbert.tasks.losses import example_weights
from kbert.tasks.task import Predictions
from kbert.training.coupled_rows import with_coupled_rows

_FEWER_AT_ONCE = "take a smaller batch_size; during training eval_batch_size, with which the same run goes on"
_WEIGHTS = "example weights"  # collected with the task's values: 0 for rows that only fill the last batch


class EvaluationStep:
    """Sums the losses and metrics of a batch, and collects the values that the task needs from every row.

    There is no dropout and no update.

    Args:
      task, model, strategy: as for a `TrainStep`.
      jit_compile: compile the part of each replica with XLA; all batches must then have the same shape.
      for_page: collect what `Task.page` needs as well.
    """

    def __init__(self, task, model, strategy, jit_compile=False, for_page=False):
        self._task = task
        self._model = model
        self._strategy = strategy
        self._collect = task.page.collect if for_page and task.page else task.collect
        jit_compile = jit_compile and not isinstance(strategy, tf.distribute.TPUStrategy)
        # Replicas cannot wait for each other within a tf.function of their own, see `TrainStep`.
        self._couples = bool(task.coupled) and strategy.num_replicas_in_sync > 1
        compiled = tf.function(
            self._outputs if self._couples else self._replica_sums,
            jit_compile=jit_compile,
            autograph=False,
        )
        self._model_outputs = compiled if self._couples else self._outputs
        self._local_sums = self._replica_sums if self._couples else compiled

    def trace(self, batch_spec):
        """Traces `run` once for all batches of a spec; else the first few shapes would each be traced."""
        self.run.get_concrete_function(batch_spec)

    @tf.function(reduce_retracing=True, autograph=False)
    def run(self, batch):
        """Evaluates one (distributed) batch on all replicas.

        Returns:
          (sums, rows). `sums`: dict name -> (sum, weight). `rows`: dict name -> tensor of shape (rows, ...)
          with the rows of all replicas in order, for each name that the task collects, and the example
          weights. `rows` is empty when the task collects nothing.
        """
        sums, rows = self._strategy.run(self._replica_step, args=(batch,))
        sums = tf.nest.map_structure(lambda value: self._strategy.experimental_local_results(value)[0], sums)
        return sums, {name: self._strategy.gather(value, axis=0) for name, value in rows.items()}

    def _replica_step(self, batch):
        sums, rows = self._local_sums(batch)
        return tf.distribute.get_replica_context().all_reduce("sum", sums), rows

    def _replica_sums(self, batch):
        outputs = self._model_outputs(model_inputs(self._model, batch))
        if self._couples:
            outputs = with_coupled_rows(self._task, outputs, batch)
        return _sums_and_rows(self._task, outputs, batch, self._collect)

    def _outputs(self, inputs):
        return self._model(inputs, training=False)


class StoredOutputs:
    """An evaluation step for outputs that are already there, such as those of a file on a phone.

    Args:
      task: the `Task`.
      outputs: for each batch, in order, the outputs of the model as arrays.
    """

    def __init__(self, task, outputs: Iterable[dict]):
        self._task = task
        self._outputs = iter(outputs)

    def run(self, batch):
        """As `EvaluationStep.run`, of the next outputs."""
        return _sums_and_rows(self._task, next(self._outputs), batch, self._task.collect)


def losses_and_metrics(task, outputs, batch, weights, training=False):
    """(`Task.loss_sums`, `Task.metric_sums`) of a batch whose `Task.loss_weights` are `weights`.

    Raises:
      ValueError: where the task's losses have other names than their weights, or a metric is no pair.
    """
    losses, metrics = task.loss_sums(outputs, batch, training=training), task.metric_sums(outputs, batch)
    if losses.keys() != weights.keys():
        raise ValueError(
            f"{task.name}: loss_sums gives {', '.join(losses)}, but loss_weights gives {', '.join(weights)}; "
            "give both the same names."
        )
    for name, value in metrics.items():
        if not isinstance(value, tuple) or len(value) != 2:
            raise ValueError(
                f"{task.name}: metric_sums gives {value!r:.60} for {name}; expected a pair (sum, weight)."
            )
    return losses, metrics


def _sums_and_rows(task, outputs, batch, collect):
    weights = task.loss_weights(batch)
    losses, metrics = losses_and_metrics(task, outputs, batch, weights)
    sums = {name: (losses[name], weights[name]) for name in losses}
    rows = dict(collect(outputs, batch))
    if rows:
        rows[_WEIGHTS] = example_weights(batch)
    return sums | metrics, rows


def evaluate_batches(
    task,
    step: EvaluationStep | StoredOutputs,
    batches,
    examples=None,
    owners=None,
    callback: Callable[[list | None, Predictions], None] | None = None,
    num_batches: int | None = None,
    after_batch: Callable[[], None] = lambda: None,
) -> dict:
    """Means of losses and metrics over all batches, as `Task.summarize` reports them, and `Task.score`.

    Args:
      task: the `Task`.
      step: its evaluation step.
      batches: all batches of the evaluation, or only the first few.
      examples: the examples that the rows were made from, or None.
      owners: the index of the example that each row belongs to. By default row i belongs to example i.
      callback: called with the examples and their `Predictions`, where the step collects any.
      num_batches: for the time left, where the batches do not know their number, as those of records.
      after_batch: called after each batch; what it raises ends the evaluation.

    Raises:
      ValueError: when there is no batch; MemoryError for one that does not fit into memory.
    """
    sums, collected = None, []
    progress = Progress("Evaluated", "batches", num_batches or _count_batches(batches))
    with activity("evaluation") as now, naming_full_memory("a batch of the evaluation", _FEWER_AT_ONCE):
        if isinstance(step, EvaluationStep) and hasattr(batches, "element_spec"):
            step.trace(batches.element_spec)
        for number, batch in enumerate(batches, 1):
            new_sums, rows = step.run(batch)
            sums = new_sums if sums is None else tf.nest.map_structure(tf.add, sums, new_sums)
            if rows:
                collected.append(task.keep({name: np.asarray(value) for name, value in rows.items()}))
            now.text = f"evaluation, {number} batches done"
            progress.report(number)
            after_batch()
    if sums is None:
        raise ValueError("the evaluation data hold no example.")
    metrics = task.summarize(means(sums))
    if collected:
        predictions = _predictions(collected, owners)
        if examples is not None:
            examples = examples[: int(predictions.owners[-1]) + 1]
        metrics |= task.score(examples, predictions)
        if callback:
            callback(examples, predictions)
    return {name: value if isinstance(value, list) else float(value) for name, value in metrics.items()}


def _count_batches(batches) -> int | None:
    """How many batches there are; None where that is not known."""
    if isinstance(batches, list):
        return len(batches)
    number = int(batches.cardinality()) if isinstance(batches, tf.data.Dataset) else -1
    return number if number >= 0 else None


def _predictions(collected, owners):
    rows = {name: _concatenate([batch[name] for batch in collected]) for name in collected[0]}
    real = rows.pop(_WEIGHTS) > 0
    values = {name: value[real] for name, value in rows.items()}
    owners = np.arange(real.sum()) if owners is None else np.asarray(owners)[: real.sum()]
    return Predictions(values, owners)


def _concatenate(batches):
    """Rows of all batches; those of shorter sequences get zeros behind."""
    if batches[0].ndim == 1:
        return np.concatenate(batches)
    longest, others = max(rows.shape[1] for rows in batches), [(0, 0)] * (batches[0].ndim - 2)
    return np.concatenate([np.pad(rows, [(0, 0), (0, longest - rows.shape[1]), *others]) for rows in batches])


def model_inputs(model, batch):
    """The features of a batch that are inputs of the model, so without labels and weights."""
    return {name: batch[name] for name in model.input}


def means(sums: dict) -> dict:
    """(sum, weight) pairs -> NumPy means; where the weight is 0, the sum itself (see Task.metric_sums)."""
    return {
        name: np.asarray(total) / np.asarray(weight) if weight else np.asarray(total)
        for name, (total, weight) in sums.items()
    }


def with_prefixed(metrics: dict, prefix: str, further: dict) -> dict:
    """Metrics together with those on a further file, whose names begin with `prefix`.

    Args:
      metrics: those so far.
      prefix: a name of `other_dev_files` and `_`.
      further: those on the further file.

    Raises:
      ValueError: when two of them would have the same name, for one would replace the other.
    """
    prefixed = {prefix + name: value for name, value in further.items()}
    taken = sorted(metrics.keys() & prefixed.keys())
    if taken:
        name = prefix.removesuffix("_")
        raise ValueError(
            f"other_dev_files: the {taken[0].removeprefix(prefix)} of {name!r} would be called "
            f"{taken[0]}, which is the name of another metric; call the file something else than "
            f"{name}."
        )
    return metrics | prefixed
