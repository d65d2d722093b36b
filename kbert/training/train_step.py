"""The training step and the evaluation step, the same under every strategy."""

import numpy as np
import tensorflow as tf

from kbert.training.optimizer import AdamWeightDecay


class TrainStep:
    """Losses summed and divided by the global weight, gradients all-reduced, clipped, then applied.

    In this order the result does not depend on the number of replicas: 1 x N equals N x 1 to rounding.
    (Keras's own `fit` clips each replica's gradient before the sum.) Dropout is a function of seed, step
    and replica alone, so no random state needs saving.

    Args:
      task: the `Task`.
      model: its Keras model, built inside the strategy's scope.
      optimizer: an `AdamWeightDecay` over the model's trainable variables.
      schedule: learning rate by step.
      global_step: int64 variable, the optimizer steps taken.
      strategy: a tf.distribute strategy.
      jit_compile: compile forward and backward pass with XLA; needs fixed shapes.
      seed: the run's seed.
    """

    def __init__(
        self, task, model, optimizer: AdamWeightDecay, schedule, global_step, strategy, jit_compile, seed
    ):
        self._task = task
        self._model = model
        self._optimizer = optimizer
        self._schedule = schedule
        self._global_step = global_step
        self._strategy = strategy
        self._seed = seed
        self._trainable = [variable.value for variable in model.trainable_variables]
        self._random_states = [
            variable.value for variable in model.non_trainable_variables if "seed_generator" in variable.path
        ]
        self._forward_backward = tf.function(self._gradients_and_sums, jit_compile=jit_compile)

    @tf.function(reduce_retracing=True)
    def run(self, iterator, num_steps):
        """Takes `num_steps` (int32 scalar tensor) optimizer steps.

        Returns:
          dict name -> (sum, weight) of every loss and metric over these steps and all replicas, and
          `gradient_norm` (before clipping).
        """
        sums = self._global_step_on(next(iterator))
        for _ in tf.range(num_steps - 1):
            more = self._global_step_on(next(iterator))
            sums = tf.nest.map_structure(tf.add, sums, more)
        return sums

    @tf.function(reduce_retracing=True)  # traced once, although it is called from two places
    def _global_step_on(self, batch):
        sums = self._strategy.run(self._replica_step, args=(batch,))
        self._global_step.assign_add(1)
        # Already summed over replicas: all hold the same.
        return tf.nest.map_structure(lambda value: self._strategy.experimental_local_results(value)[0], sums)

    def _replica_step(self, batch):
        replica = tf.distribute.get_replica_context()
        step = self._global_step.read_value()
        self._seed_dropout(step, replica.replica_id_in_sync_group)

        weights = replica.all_reduce("sum", self._task.loss_weights(batch))
        gradients, sums = self._forward_backward(batch, weights)
        gradients = replica.all_reduce("sum", gradients)
        sums = replica.all_reduce("sum", sums)

        norm = tf.linalg.global_norm(gradients)
        gradients, _ = tf.clip_by_global_norm(
            gradients, self._optimizer.config.global_clipnorm, use_norm=norm
        )
        self._optimizer.apply(gradients, self._schedule(step), step)
        losses = {name: (sums["losses"][name], weights[name]) for name in weights}
        return losses | sums["metrics"] | {"gradient_norm": (norm, tf.constant(1.0))}

    def _gradients_and_sums(self, batch, weights):
        """This replica's share of the gradients of the global loss, and its sums for the record."""
        with tf.GradientTape() as tape:
            outputs = self._model(model_inputs(self._model, batch), training=True)
            losses = self._task.loss_sums(outputs, batch)
            loss = tf.add_n([losses[name] / weights[name] for name in losses])
        gradients = [tf.convert_to_tensor(g) for g in tape.gradient(loss, self._trainable)]
        return gradients, {"losses": losses, "metrics": self._task.metric_sums(outputs, batch)}

    def _seed_dropout(self, step, replica_id):
        """Sets the state of every random generator of this replica from seed, step, place and replica."""
        for place, state in enumerate(self._random_states):
            seed = [
                tf.constant(self._seed * 1009 + place, state.dtype) * 65537
                + tf.cast(replica_id, state.dtype),
                tf.cast(step, state.dtype) * 1024,  # Keras counts draws up from here
            ]
            tf.raw_ops.AssignVariableOp(resource=state.handle, value=tf.stack(seed))


class EvaluationStep:
    """Sums of losses and metrics over batches, without dropout and without updates."""

    def __init__(self, task, model, strategy):
        self._task = task
        self._model = model
        self._strategy = strategy

    @tf.function(reduce_retracing=True)
    def run(self, batch):
        """dict name -> (sum, weight) over all replicas for one (distributed) batch."""
        sums = self._strategy.run(self._replica_step, args=(batch,))
        return tf.nest.map_structure(lambda value: self._strategy.experimental_local_results(value)[0], sums)

    def _replica_step(self, batch):
        outputs = self._model(model_inputs(self._model, batch), training=False)
        weights = self._task.loss_weights(batch)
        losses = self._task.loss_sums(outputs, batch)
        sums = {name: (losses[name], weights[name]) for name in losses}
        sums |= self._task.metric_sums(outputs, batch)
        return tf.distribute.get_replica_context().all_reduce("sum", sums)


def model_inputs(model, batch):
    """The features of a batch that the model takes; labels and weights stay out."""
    return {name: batch[name] for name in model.input}


def means(sums: dict) -> dict:
    """(sum, weight) pairs -> NumPy means; where the weight is 0, the sum itself (see Task.metric_sums)."""
    return {
        name: np.asarray(total) / np.asarray(weight) if weight else np.asarray(total)
        for name, (total, weight) in sums.items()
    }
