"""Makes optimizers by the names that configs use; each optimizer has its own file."""

from kbert.config import OptimizerConfig
from kbert.training.optimizers.adam import AdamWeightDecay
from kbert.training.optimizers.lamb import Lamb
from kbert.training.optimizers.optimizer import Optimizer

_CLASSES = {"adam_weight_decay": AdamWeightDecay, "adamw": AdamWeightDecay, "lamb": Lamb}


def make_optimizer(config: OptimizerConfig, variables: dict) -> Optimizer:
    """The optimizer that `config.name` names. Call it inside the strategy's scope.

    Args:
      config: an `OptimizerConfig`.
      variables: dict of name -> trainable Keras variable, for example `trained_weights(model)`.

    Raises:
      ValueError: with `layer_decay`, when no variable has a layer in its name.
    """
    return _CLASSES[config.name](config, variables)
