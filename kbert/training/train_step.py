"""The training step, the same under every strategy."""

import tensorflow as tf

from kbert.checkpoints.model_variables import is_random_state
from kbert.files.json_values import first_few
from kbert.runs.run_directory import trained_weights
from kbert.training.coupled_rows import with_coupled_rows
from kbert.training.evaluation_step import losses_and_metrics, model_inputs
from kbert.training.loss_scale import SMALLEST_SCALE, DynamicLossScale
from kbert.training.measuring.step_work import count_work


class TrainStep:
    """Sums the losses, divides by the global weight, all-reduces the gradients, clips them, applies them.

    In this order the result depends neither on the number of replicas nor on the number of micro-batches:
    1 x N equals N x 1 except for rounding. (Keras's own `fit` clips each replica's gradient before the sum.)
    Dropout depends only on seed, step, micro-batch and replica, so no random state has to be saved.

    With XLA on one replica the whole step is one compiled program, from the seeds of dropout to the update.
    On several replicas XLA compiles the forward and backward pass; TensorFlow runs the rest, which includes
    the all-reduce. On a TPU the strategy compiles everything itself. If the losses couple the rows of all
    replicas (`Task.coupled`), these are gathered between the model and the losses; XLA then compiles the
    model, and TensorFlow runs the losses too.

    Args:
      task: the `Task`.
      model: its Keras model, built inside the strategy's scope.
      optimizer: the `Optimizer` of the variables to update; the others are frozen.
      schedule: function from the step to the learning rate.
      progress: function from the step to the share of the training that is done; None where it is not known.
      global_step: int64 variable, the number of steps taken, including skipped steps. The position in the
        data follows from it.
      strategy: a tf.distribute strategy.
      jit_compile: compile with XLA; needs fixed shapes.
      seed: the run's seed.
      gradient_accumulation_steps: the number of micro-batches that a batch is cut into. Their gradients are
        computed one after the other and added, in the memory of one.
      precision: the model's; "float16" scales the loss, see `DynamicLossScale`.
      first_update: the step at which the optimizer's moments were 0; it counts its updates from there.
    """

    def __init__(
        self,
        task,
        model,
        optimizer,
        schedule,
        global_step,
        strategy,
        jit_compile,
        seed,
        gradient_accumulation_steps=1,
        precision="float32",
        first_update=0,
        progress=None,
    ):
        self._task = task
        self._model = model
        self._optimizer = optimizer
        self._schedule = schedule
        self._progress = progress or (lambda step: 1.0)
        self._global_step = global_step
        self._strategy = strategy
        self._seed = seed
        self._num_micro_batches = gradient_accumulation_steps
        self._first_update = first_update
        self._updated = optimizer.variables
        self._training_only = {
            name: variable.value
            for name, variable in trained_weights(model).items()
            if task.is_training_only(name)
        }
        self._random_states = [
            variable.value for variable in model.non_trainable_variables if is_random_state(variable)
        ]
        self._loss_scale = None
        if precision == "float16":
            with strategy.scope():
                self._loss_scale = DynamicLossScale()
        # What float16 must hold are gradients of one micro-batch, whose loss is so many times smaller.
        self._num_parts = strategy.num_replicas_in_sync * gradient_accumulation_steps
        self._alone = strategy.num_replicas_in_sync == 1
        jit_compile = jit_compile and not isinstance(strategy, tf.distribute.TPUStrategy)
        self._gradients_of_micro_batch = tf.function(self._gradients_and_sums, autograph=False)
        # Replicas cannot wait for each other within a tf.function of their own.
        self._couples = bool(task.coupled) and not self._alone
        compiled = tf.function(
            self._outputs if self._couples else self._accumulated_gradients,
            jit_compile=jit_compile and not self._alone,
            autograph=False,
        )
        self._model_outputs = compiled if self._couples else self._outputs
        self._gradients_of_batch = self._accumulated_gradients if self._couples else compiled
        self._whole_step = tf.function(
            self._updating_step, jit_compile=jit_compile and self._alone, autograph=False
        )

    def state(self) -> dict[str, tf.Variable]:
        """Name -> variable that a checkpoint must hold in addition to weights and optimizer."""
        scale = self._loss_scale.state() if self._loss_scale else {}
        return scale | self._training_only

    @tf.function(reduce_retracing=True, autograph=False)
    def run(self, iterator, num_steps):
        """Takes `num_steps` (int32 scalar tensor) optimizer steps.

        Returns:
          dict name -> (sum, weight), over these steps and all replicas, of every loss and metric, of
          `gradient_norm` (before clipping) and of the counts `step_work`, see `count_work`. With loss scaling
          also `loss_scale` and the number of `skipped_steps`.
        """
        traced = self._global_step_on.get_concrete_function(iterator.element_spec)

        # The step stands in the graph once: a first step before the loop would double the work of grappler.
        def add_step(taken, sums):
            return taken + 1, tf.nest.map_structure(tf.add, sums, self._global_step_on(next(iterator)))

        _, sums = tf.while_loop(
            lambda taken, _: taken < num_steps,
            add_step,
            (tf.constant(0), _zeros_like(traced.structured_outputs)),
            parallel_iterations=1,
        )
        return sums

    @tf.function(reduce_retracing=True, autograph=False)
    def _global_step_on(self, batch):
        step = self._global_step.read_value()
        sums = self._strategy.run(self._replica_step, args=(batch, step))
        self._global_step.assign_add(1)
        # Already summed over replicas, so all replicas hold the same values.
        return tf.nest.map_structure(lambda value: self._strategy.experimental_local_results(value)[0], sums)

    def _replica_step(self, batch, step):
        replica_id = tf.distribute.get_replica_context().replica_id_in_sync_group
        replica_id = tf.convert_to_tensor(replica_id, tf.int32)
        step_function = self._whole_step if self._alone else self._updating_step
        return step_function(batch, step, replica_id)

    def _updating_step(self, batch, step, replica_id):
        weights = self._over_replicas(self._task.loss_weights(batch, training=True))
        scale = self._loss_scale.scale.read_value() if self._loss_scale else None
        gradients, sums = self._gradients_of_batch(batch, weights, step, replica_id, scale)
        gradients, sums = self._over_replicas((gradients, sums))
        records = {name: (sums["losses"][name], weights[name]) for name in weights} | sums["metrics"]
        return records | self._update(gradients, step, scale)

    def _over_replicas(self, values):
        return values if self._alone else tf.distribute.get_replica_context().all_reduce("sum", values)

    def _accumulated_gradients(self, batch, weights, step, replica_id, scale):
        """This replica's share of the gradients of the global loss (scaled), and its sums of metrics."""
        first_draw = step * self._num_micro_batches
        arguments = (weights, first_draw, replica_id, scale)
        if self._num_micro_batches == 1:
            return self._gradients_and_sums(batch, tf.constant(0), *arguments)
        return sum_over_micro_batches(
            self._gradients_of_micro_batch, batch, self._num_micro_batches, *arguments
        )

    def _gradients_and_sums(self, batch, number, weights, first_draw, replica_id, scale):
        draw = first_draw + tf.cast(number, tf.int64)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(self._updated)  # so no gradient is computed for what lies below, if that is frozen
            outputs = self._model_outputs(model_inputs(self._model, batch), draw, replica_id)
            if self._couples:
                outputs = with_coupled_rows(self._task, outputs, batch)
            losses, metrics = losses_and_metrics(self._task, outputs, batch, weights, training=True)
            progress = self._progress(first_draw // self._num_micro_batches)
            factors = {name: self._task.loss_factor(name, progress) for name in losses}
            loss = tf.add_n([losses[name] / weights[name] * factors[name] for name in losses])
            if scale is not None:
                loss *= scale * self._num_parts
        gradients = tape.gradient(loss, self._updated)
        named = zip(self._optimizer.names, gradients, strict=True)
        if unread := [name for name, gradient in named if gradient is None]:
            raise ValueError(
                f"{self._task.name}: no loss reads {first_few(unread, 3)}; leave out what build_model makes "
                "and loss_sums does not read."
            )
        gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if self._couples:  # the gradient of a function does not say its shape
            shaped = zip(gradients, self._updated, strict=True)
            gradients = [tf.ensure_shape(gradient, variable.shape) for gradient, variable in shaped]
        work = {"step_work": (count_work(batch), tf.constant(0.0))}  # a count, see `means`
        return gradients, {"losses": losses, "metrics": metrics | work}

    def _outputs(self, inputs, draw, replica_id):
        self._seed_dropout(draw, replica_id)
        outputs = self._model(inputs, training=True)
        if self._model.losses:
            raise ValueError(
                f"{self._task.name}: a layer of build_model adds a loss of its own (a regularizer, add_loss) "
                "that this training does not read: add it in loss_sums, or take optimizer.weight_decay."
            )
        return outputs

    def _seed_dropout(self, step, replica_id):
        """Sets the state of each random generator of this replica from seed, its index, step and replica."""
        for index, state in enumerate(self._random_states):
            seed = [
                tf.constant(self._seed * 1009 + index, state.dtype) * 65537
                + tf.cast(replica_id, state.dtype),
                tf.cast(step, state.dtype) * 1024,  # Keras counts draws up from here
            ]
            tf.raw_ops.AssignVariableOp(resource=state.handle, value=tf.stack(seed))

    def _update(self, gradients, step, scale):
        """Clips the gradients and updates weights, moments and loss scale; `scale` may be None."""
        norm, inverse = tf.linalg.global_norm(gradients), 1.0
        if scale is not None:
            inverse = 1.0 / (scale * self._num_parts)
            norm *= inverse
        factor, clipnorm = inverse, self._optimizer.config.global_clipnorm
        if clipnorm is not None:
            factor = inverse * clipnorm * tf.minimum(1.0 / norm, 1.0 / clipnorm)
        learning_rate = self._schedule(step)

        def apply(updates):
            self._optimizer.apply(gradients, learning_rate, updates, gradient_scale=factor)

        if scale is None:
            apply(step - self._first_update)
            return {"gradient_norm": (norm, tf.constant(1.0))}
        finite = tf.math.is_finite(norm)
        updates = step - self._first_update - self._loss_scale.skipped_steps.read_value()
        tf.cond(finite, lambda: apply(updates), lambda: None)
        self._loss_scale.update(finite)
        # An overflow is normal and not reported, unless the scale is already the smallest.
        known = finite | (scale <= SMALLEST_SCALE)
        return {
            "gradient_norm": (tf.where(known, norm, 0.0), tf.cast(known, tf.float32)),
            "loss_scale": (scale, tf.constant(1.0)),
            "skipped_steps": (tf.cast(~finite, tf.float32), tf.constant(0.0)),  # a count, see `means`
        }


def sum_over_micro_batches(function, batch: dict, num_micro_batches: int, *arguments):
    """The sums of `function(micro_batch, number, *arguments)` over the micro-batches of a batch.

    This is a loop in the graph. Its shapes are fixed if those of the batch are, so XLA can compile it too.

    Args:
      function: a tf.function. It takes a micro-batch, its number (int32 scalar tensor) and `arguments`. It
        returns a structure of tensors whose shapes are the same for every micro-batch.
      batch: name -> tensor whose first dimension is divisible by `num_micro_batches`.
      num_micro_batches: how many there are; each is a range of rows.
      *arguments: tensors that are the same for all of them.
    """
    stacked = {name: _stack_micro_batches(value, num_micro_batches) for name, value in batch.items()}
    traced = function.get_concrete_function(
        {name: tf.TensorSpec(value.shape[1:], value.dtype) for name, value in stacked.items()},
        tf.TensorSpec([], tf.int32),
        *tf.nest.map_structure(tf.type_spec_from_value, arguments),
    )

    def add_micro_batch(number, sums):
        micro_batch = {name: tf.gather(value, number) for name, value in stacked.items()}
        return number + 1, tf.nest.map_structure(tf.add, sums, function(micro_batch, number, *arguments))

    _, sums = tf.while_loop(
        lambda number, sums: number < num_micro_batches,
        add_micro_batch,
        (tf.constant(0), _zeros_like(traced.structured_outputs)),
        parallel_iterations=1,
        maximum_iterations=num_micro_batches,
    )
    return sums


def _stack_micro_batches(value, number):
    """(examples, ...) -> (number, examples / number, ...)."""
    dynamic = tf.shape(value)
    shape = [dynamic[axis] if size is None else size for axis, size in enumerate(value.shape)]
    return tf.reshape(value, [number, shape[0] // number, *shape[1:]])


def _zeros_like(structure):
    return tf.nest.map_structure(lambda tensor: tf.zeros(tensor.shape, tensor.dtype), structure)
