"""The base class of optimizers: two moments for each variable, and updates that pass over memory once."""

import abc
import re

import tensorflow as tf

from kbert.config import OptimizerConfig

# A variable of at least this many numbers is updated by one loop that XLA compiles. The loop reads each
# number of weight, moments and gradient once and writes it once; separate operations would read and write
# memory several times (docs/speed.md). For smaller variables compiling saves no time.
FUSED_FROM = 2**15

_LAYER = re.compile(r"(?:^|/)layer_(\d+)/")
_EMBEDDINGS = re.compile(r"(?:^|/)embeddings/")


class Optimizer(abc.ABC):
    """Updates every variable from its gradient and two moments; each replica updates its own copy.

    Create it inside the strategy's scope. It runs eagerly, in a graph, in a graph that XLA compiles as a
    whole, and in replica context. In replica context the gradients must be the same on all replicas.

    Args:
      config: an `OptimizerConfig`.
      variables: dict of name -> trainable Keras variable. Weight decay and learning rate depend on the names,
        see `is_decayed` and `learning_rate_factors`.

    Attributes:
      config: as given.
      names: the variables' names, in the order in which `apply` expects gradients.
    """

    def __init__(self, config: OptimizerConfig, variables: dict):
        self.config = config
        self.names = list(variables)
        self.variables = [variable.value for variable in variables.values()]  # in the order of `names`
        self._weight_decays = [
            config.weight_decay if is_decayed(name, config.exclude_from_weight_decay) else 0.0
            for name in self.names
        ]
        self._learning_rate_factors = learning_rate_factors(self.names, config.layer_decay)
        self._first_moments = [_slot(variable, "adam_m") for variable in self.variables]
        self._second_moments = [_slot(variable, "adam_v") for variable in self.variables]
        self._fused_updates = {}

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
        for index, gradient in enumerate(gradients):
            self._updater(index, gradient.shape)(
                # In replica context a handle is that of the replica's own copy.
                self.variables[index].handle,
                self._first_moments[index].handle,
                self._second_moments[index].handle,
                gradient,
                gradient_scale,
                learning_rate * self._learning_rate_factors[index],
                *scalars,
            )

    def _updater(self, index, shape):
        """The function that updates a variable; large variables of the same kind share a compiled one."""
        weight_decay, adapted = self._weight_decays[index], self.is_adapted(self.names[index])
        is_large = shape.num_elements() >= FUSED_FROM
        assign = self.update_by_formula if is_large else self.update_small

        def update(variable, first_moment, second_moment, gradient, gradient_scale, *scalars):
            handles = (variable, first_moment, second_moment)
            assign(handles, gradient * gradient_scale, weight_decay, adapted, *scalars)

        if not is_large:
            return update
        kind = (tuple(shape), weight_decay, adapted)
        if kind not in self._fused_updates:
            self._fused_updates[kind] = tf.function(update, jit_compile=True, autograph=False)
        return self._fused_updates[kind]

    def update_by_formula(self, handles, gradient, weight_decay, adapted, learning_rate, *scalars):
        """Reads the variables, computes `new_values` and assigns them.

        The arguments are those of `new_values`, with `handles` (variable, first and second moment) instead of
        the values.
        """
        read = [
            tf.ensure_shape(tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32), gradient.shape)
            for handle in handles
        ]
        new = self.new_values(*read, gradient, learning_rate, weight_decay, adapted, *scalars)
        for handle, value in zip(handles, new, strict=True):
            tf.raw_ops.AssignVariableOp(resource=handle, value=value)

    def update_small(self, handles, gradient, weight_decay, adapted, learning_rate, *scalars):
        """The same as `update_by_formula`, for small variables; a subclass may do it in fewer operations."""
        self.update_by_formula(handles, gradient, weight_decay, adapted, learning_rate, *scalars)

    def is_adapted(self, name: str) -> bool:
        """Whether the optimizer adapts the step to the whole variable of this name (the ratio of LAMB)."""
        return False

    @abc.abstractmethod
    def scalars(self, step) -> list[tf.Tensor]:
        """The numbers that `new_values` needs from the step, as float32 scalar tensors."""

    @abc.abstractmethod
    def new_values(
        self, variable, first_moment, second_moment, gradient, learning_rate, weight_decay, adapted, *scalars
    ):
        """The formula: (variable, first moment, second moment) after the update.

        Args:
          variable, first_moment, second_moment, gradient: float32 tensors of one shape.
          learning_rate: float32 scalar tensor, that of this variable.
          weight_decay: float, 0.0 if the variable is not decayed.
          adapted: the result of `is_adapted` for the variable.
          *scalars: the results of `scalars`.
        """


def _slot(variable, name):
    return tf.Variable(tf.zeros(variable.shape, variable.dtype), trainable=False, name=name)


def is_decayed(name: str, exclude_from_weight_decay) -> bool:
    """Whether weight decay applies to a variable of this name.

    Args:
      name: the variable's name, for example `layer_0/attention/query/kernel`.
      exclude_from_weight_decay: regular expressions, searched for anywhere in the name; a variable that
        matches one is not decayed (google-research/bert, optimization.py, `_do_use_weight_decay`).
    """
    return not any(re.search(pattern, name) for pattern in exclude_from_weight_decay)


def require_found(exclude_from_weight_decay, names):
    """Raises ValueError for a pattern of the user's that excludes nothing, such as a name in PyTorch.

    Args:
      exclude_from_weight_decay: see `is_decayed`; those by default may be for other models.
      names: the names of all variables.
    """
    own = set(exclude_from_weight_decay) - set(OptimizerConfig.exclude_from_weight_decay)
    if unknown := sorted(each for each in own if not any(re.search(each, name) for name in names)):
        norm = next((name for name in names if "norm" in name), next(iter(names)))
        raise ValueError(
            f"optimizer.exclude_from_weight_decay: {', '.join(unknown)} is found in no variable's name and "
            f"would exclude nothing. A name is {norm}; layer_norm finds all norms, bias all biases."
        )


def learning_rate_factors(names, layer_decay: float) -> list[float]:
    """What the learning rate of each variable is multiplied by: `layer_decay` to its depth below the head.

    The pooler and the heads have depth 0, the top layer has depth 1, the layer below it 2, and the embeddings
    one more than the lowest layer. (google-research/electra, model/optimization.py, `_get_layer_lrs`, is the
    same, except that everything below the head has one power more.) The output matrix of the masked-LM head
    is the table of word embeddings, so it has the depth of the embeddings.

    Args:
      names: names of variables, with `layer_<i>/` for those of layer i and `embeddings/`.
      layer_decay: 1.0 gives every variable the full learning rate.

    Raises:
      ValueError: when `layer_decay` is not 1 and no name has a layer.
    """
    if layer_decay == 1.0:
        return [1.0 for _ in names]
    layers = [_LAYER.search(name) for name in names]
    indices = [int(match[1]) for match in layers if match]
    if not indices:
        raise ValueError(
            f"optimizer.layer_decay={layer_decay} needs variables with their layer in the name, such as "
            f"layer_0/attention/query/kernel, but none of the {len(layers)} has one, for example "
            f"{next(iter(names), None)!r}; set layer_decay=1.0."
        )
    num_layers = max(indices) + 1
    factors = []
    for name, match in zip(names, layers, strict=True):
        if match:
            depth = num_layers - int(match[1])
        else:
            depth = num_layers + 1 if _EMBEDDINGS.search(name) else 0
        factors.append(layer_decay**depth)
    return factors
