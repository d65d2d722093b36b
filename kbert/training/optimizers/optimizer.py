"""The base class of optimizers: two moments for each variable, and updates that pass over memory once."""

import abc

import tensorflow as tf

from kbert.config import OptimizerConfig
from kbert.training.optimizers.parameter_groups import is_decayed, rate_shares

# A variable of at least this many numbers is updated by one loop that XLA compiles. The loop reads each
# number of weight, moments and gradient once and writes it once; separate operations would read and write
# memory several times (docs/optimizers.md). For smaller variables compiling saves no time.
FUSED_FROM = 2**15


class Optimizer(abc.ABC):
    """Updates every variable from its gradient and two moments; each replica updates its own copy.

    Create it inside the strategy's scope. It runs eagerly, in a graph, in a graph that XLA compiles as a
    whole, and in replica context. In replica context the gradients must be the same on all replicas.

    Args:
      config: an `OptimizerConfig`.
      variables: dict of name -> trainable Keras variable. Weight decay and the share of the learning rate
        depend on the names, see parameter_groups.py.

    Attributes:
      config: as given.
      names: the variables' names, in the order in which `apply` expects gradients.
    """

    def __init__(self, config: OptimizerConfig, variables: dict):
        self.config = config
        self.names = list(variables)
        self._variables = [variable.value for variable in variables.values()]
        self._weight_decays = [
            config.weight_decay if is_decayed(name, config.exclude_from_weight_decay) else 0.0
            for name in self.names
        ]
        self._rate_shares = rate_shares(self.names, config.layer_decay)
        self._first_moments = [_slot(variable, "adam_m") for variable in self._variables]
        self._second_moments = [_slot(variable, "adam_v") for variable in self._variables]
        self._fused_updates = {}

    @property
    def variables(self) -> list:
        """The variables that are updated, in the order of `names`."""
        return self._variables

    def slots(self) -> dict[str, tf.Variable]:
        """The moments by name: `<variable>/adam_m` and `<variable>/adam_v`, as the original names them."""
        first = {f"{name}/adam_m": m for name, m in zip(self.names, self._first_moments, strict=True)}
        second = {f"{name}/adam_v": v for name, v in zip(self.names, self._second_moments, strict=True)}
        return first | second

    def apply(self, gradients, learning_rate, step, gradient_scale=1.0):
        """Updates this replica's copy of every variable.

        Args:
          gradients: dense float32 tensors in the order of `names`.
          learning_rate: float32 scalar tensor.
          step: int scalar tensor, the number of updates before this one.
          gradient_scale: float32 scalar tensor that gradients are multiplied by during the update, such as
            the factor of clipping by the global norm. So clipping does not read and write memory once more.
        """
        scalars = self.scalars(tf.convert_to_tensor(step))
        learning_rate = tf.convert_to_tensor(learning_rate, tf.float32)
        gradient_scale = tf.convert_to_tensor(gradient_scale, tf.float32)
        for place, gradient in enumerate(gradients):
            self._updater(place, gradient.shape)(
                # In replica context a handle is that of the replica's own copy.
                self._variables[place].handle,
                self._first_moments[place].handle,
                self._second_moments[place].handle,
                gradient,
                gradient_scale,
                learning_rate * self._rate_shares[place],
                *scalars,
            )

    def _updater(self, place, shape):
        """The function that updates a variable; large variables of the same kind share a compiled one."""
        weight_decay, adapted = self._weight_decays[place], self.is_adapted(self.names[place])

        def update(variable, first_moment, second_moment, gradient, gradient_scale, *scalars):
            handles, gradient = (variable, first_moment, second_moment), gradient * gradient_scale
            self.update_by_formula(handles, gradient, weight_decay, adapted, *scalars)

        def update_small(variable, first_moment, second_moment, gradient, gradient_scale, *scalars):
            handles, gradient = (variable, first_moment, second_moment), gradient * gradient_scale
            self.update_small(handles, gradient, weight_decay, adapted, *scalars)

        if shape.num_elements() < FUSED_FROM:
            return update_small
        kind = (tuple(shape), weight_decay, adapted)
        if kind not in self._fused_updates:
            self._fused_updates[kind] = tf.function(update, jit_compile=True, autograph=False)
        return self._fused_updates[kind]

    def update_by_formula(self, handles, gradient, weight_decay, adapted, rate, *scalars):
        """Reads the variables, computes `new_values` and assigns them.

        The arguments are those of `new_values`, with `handles` (variable, first and second moment) instead of
        the values.
        """
        read = [
            tf.ensure_shape(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32), gradient.shape)
            for handle in handles
        ]
        new = self.new_values(*read, gradient, rate, weight_decay, adapted, *scalars)
        for handle, value in zip(handles, new, strict=True):
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)

    def update_small(self, handles, gradient, weight_decay, adapted, rate, *scalars):
        """The same as `update_by_formula`, for small variables; a subclass may do it in fewer operations."""
        self.update_by_formula(handles, gradient, weight_decay, adapted, rate, *scalars)

    def is_adapted(self, name: str) -> bool:
        """Whether the optimizer adapts the step to the whole variable of this name (the ratio of LAMB)."""
        return False

    @abc.abstractmethod
    def scalars(self, step) -> list[tf.Tensor]:
        """The numbers that `new_values` needs from the step, as float32 scalar tensors."""

    @abc.abstractmethod
    def new_values(
        self, variable, first_moment, second_moment, gradient, rate, weight_decay, adapted, *scalars
    ):
        """The formula: (variable, first moment, second moment) after the update.

        Args:
          variable, first_moment, second_moment, gradient: float32 tensors of one shape.
          rate: float32 scalar tensor, the learning rate of this variable.
          weight_decay: float, 0.0 if the variable is not decayed.
          adapted: the result of `is_adapted` for the variable.
          *scalars: the results of `scalars`.
        """


def _slot(variable, name):
    return tf.Variable(tf.zeros(variable.shape, variable.dtype), trainable=False, name=name)
