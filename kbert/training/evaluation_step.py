"""The evaluation step, the same under every strategy, and the means of what steps return."""

import numpy as np
import tensorflow as tf


class EvaluationStep:
    """Sums of losses and metrics over batches, without dropout and without updates.

    Args:
      task, model, strategy: as of a `TrainStep`.
      jit_compile: compile a replica's part with XLA; needs whole batches of one shape.
    """

    def __init__(self, task, model, strategy, jit_compile=False):
        self._task = task
        self._model = model
        self._strategy = strategy
        jit_compile = jit_compile and not isinstance(strategy, tf.distribute.TPUStrategy)
        self._local_sums = tf.function(self._sums_of_replica, jit_compile=jit_compile)

    @tf.function(reduce_retracing=True)
    def run(self, batch):
        """dict name -> (sum, weight) over all replicas for one (distributed) batch."""
        sums = self._strategy.run(self._replica_step, args=(batch,))
        return tf.nest.map_structure(lambda value: self._strategy.experimental_local_results(value)[0], sums)

    def _replica_step(self, batch):
        sums = self._local_sums(batch)
        return tf.distribute.get_replica_context().all_reduce("sum", sums)

    def _sums_of_replica(self, batch):
        outputs = self._model(model_inputs(self._model, batch), training=False)
        weights = self._task.loss_weights(batch)
        losses = self._task.loss_sums(outputs, batch)
        sums = {name: (losses[name], weights[name]) for name in losses}
        return sums | self._task.metric_sums(outputs, batch)


def evaluate_batches(task, step: EvaluationStep, batches) -> dict:
    """Means of losses and metrics over all batches, as `Task.summarize` reports them.

    Raises:
      ValueError: when there is no batch.
    """
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


def model_inputs(model, batch):
    """The features of a batch that the model takes; labels and weights stay out."""
    return {name: batch[name] for name in model.input}


def means(sums: dict) -> dict:
    """(sum, weight) pairs -> NumPy means; where the weight is 0, the sum itself (see Task.metric_sums)."""
    return {
        name: np.asarray(total) / np.asarray(weight) if weight else np.asarray(total)
        for name, (total, weight) in sums.items()
    }
