"""Adam with decoupled weight decay, as the original BERT has it and as AdamW has it."""

import re

import tensorflow as tf

from kbert.config import OptimizerConfig

# optimization.py, `create_optimizer`: searched for in the name; what matches is not decayed.
EXCLUDED_FROM_WEIGHT_DECAY = ("LayerNorm", "layer_norm", "bias")


class AdamWeightDecay:
    """One fused update per variable, applied by every replica to its own copy.

    With `bias_correction` off this is google-research/bert, optimization.py, `AdamWeightDecayOptimizer`:
    `variable -= rate * (m / (sqrt(v) + epsilon) + weight_decay * variable)`. With it on the moments are
    corrected as in AdamW (arXiv 1711.05101; epsilon enters as in Keras's and TensorFlow's Adam).

    Create it inside the strategy's scope. Gradients must be the same on all replicas (summed, clipped).

    Args:
      config: an `OptimizerConfig`.
      variables: dict of name -> trainable Keras variable.
    """

    def __init__(self, config: OptimizerConfig, variables: dict):
        self.config = config
        self.bias_correction = config.name == "adamw"
        self.names = list(variables)
        self._variables = [variable.value for variable in variables.values()]
        self._decayed = [is_decayed(name) for name in self.names]
        self.first_moments = [self._slot(variable, "m") for variable in self._variables]
        self.second_moments = [self._slot(variable, "v") for variable in self._variables]

    @staticmethod
    def _slot(variable, suffix):
        return tf.Variable(tf.zeros(variable.shape, variable.dtype), trainable=False, name=f"adam_{suffix}")

    def slots(self) -> dict[str, tf.Variable]:
        """The moments by name: `<variable>/adam_m` and `<variable>/adam_v`, as the original names them."""
        first = {f"{name}/adam_m": m for name, m in zip(self.names, self.first_moments, strict=True)}
        second = {f"{name}/adam_v": v for name, v in zip(self.names, self.second_moments, strict=True)}
        return first | second

    def apply(self, gradients, learning_rate, step):
        """Updates this replica's copy of every variable.

        Args:
          gradients: dense float32 tensors in the order of `variables`.
          learning_rate: float32 scalar tensor.
          step: int scalar tensor, updates made before this one.
        """
        config = self.config
        beta_1_power = beta_2_power = tf.constant(0.0)  # turns the fused op's bias correction into a 1
        if self.bias_correction:
            updates = tf.cast(step + 1, tf.float32)
            beta_1_power = tf.pow(config.beta_1, updates)
            beta_2_power = tf.pow(config.beta_2, updates)
        for variable, m, v, decayed, gradient in zip(
            self._variables, self.first_moments, self.second_moments, self._decayed, gradients, strict=True
        ):
            # A handle, in replica context, is that of the replica's own copy.
            if decayed and config.weight_decay:
                shrink = learning_rate * config.weight_decay * variable.read_value()
                tf.raw_ops.AssignSubVariableOp(resource=variable.handle, value=shrink)
            tf.raw_ops.ResourceApplyAdam(
                var=variable.handle,
                m=m.handle,
                v=v.handle,
                beta1_power=beta_1_power,
                beta2_power=beta_2_power,
                lr=learning_rate,
                beta1=config.beta_1,
                beta2=config.beta_2,
                epsilon=config.epsilon,
                grad=gradient,
            )


def is_decayed(name: str) -> bool:
    """Whether weight decay applies to a variable of this name: not to norms and biases."""
    return not any(re.search(pattern, name) for pattern in EXCLUDED_FROM_WEIGHT_DECAY)
