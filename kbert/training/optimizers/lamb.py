"""LAMB: Adam with a step that has, for each variable, the length of the variable times the learning rate."""

import tensorflow as tf

from kbert.training.optimizers.adam import beta_powers, new_moments
from kbert.training.optimizers.optimizer import Optimizer, is_decayed


class Lamb(Optimizer):
    """`variable -= learning_rate * |variable| / |u| * u`.

    Here `u = m^ / (sqrt(v^) + epsilon) + weight_decay * variable`, and `|x|` is the Euclidean norm over a
    whole variable. The trust ratio `|variable| / |u|` is 1 where either norm is 0, and for variables that
    `exclude_from_weight_decay` names (norms and biases): they get neither decay nor ratio. `m^` and `v^` are
    the moments over `1 - beta^t`, unless `bias_correction` is off.

    Sources: arXiv 1904.00962, algorithm 2, with the identity as its function phi; tensorflow/models,
    official/modeling/optimization/lamb.py, which comes from TensorFlow Addons (with bias correction);
    google-research/albert, lamb_optimizer.py (without it). By default both leave out the ratio for the same
    variables as the decay.
    """

    def is_adapted(self, name):
        return is_decayed(name, self.config.exclude_from_weight_decay)

    def scalars(self, step):
        if not self.config.corrects_bias:
            return []
        return [1.0 / (1.0 - power) for power in beta_powers(self.config, step)]

    def new_values(
        self,
        variable,
        first_moment,
        second_moment,
        gradient,
        learning_rate,
        weight_decay,
        adapted,
        first_correction=None,
        second_correction=None,
    ):
        config = self.config
        m, v = new_moments(config, first_moment, second_moment, gradient)
        if first_correction is None:
            update = m / (tf.sqrt(v) + config.epsilon)
        else:
            update = m * first_correction / (tf.sqrt(v * second_correction) + config.epsilon)
        if weight_decay:
            update += weight_decay * variable
        if adapted:
            learning_rate *= _trust_ratio(tf.norm(variable), tf.norm(update))
        return variable - learning_rate * update, m, v


def _trust_ratio(variable_norm, update_norm):
    both = (variable_norm > 0.0) & (update_norm > 0.0)
    return tf.where(both, variable_norm / tf.where(both, update_norm, 1.0), 1.0)
