"""Adam with decoupled weight decay, in the form of the original BERT and in the form of AdamW."""

import tensorflow as tf

from kbert.training.optimizers.optimizer import Optimizer


class AdamWeightDecay(Optimizer):
    """`variable -= learning_rate * (c * m / (sqrt(v) + epsilon) + weight_decay * variable)`.

    Without bias correction c is 1: google-research/bert, optimization.py, `AdamWeightDecayOptimizer`. With
    bias correction, the default of `adamw`, c is `sqrt(1 - beta_2^t) / (1 - beta_1^t)` at the t-th update:
    AdamW (arXiv 1711.05101, algorithm 2) as Keras and TensorFlow compute it, where epsilon is added to the
    root without correction (arXiv 1412.6980, end of section 2).
    """

    def scalars(self, step):
        config = self.config
        if not config.corrects_bias:
            return []
        beta_1_power, beta_2_power = beta_powers(config, step)
        return [tf.sqrt(1.0 - beta_2_power) / (1.0 - beta_1_power)]

    def new_values(
        self,
        variable,
        first_moment,
        second_moment,
        gradient,
        learning_rate,
        weight_decay,
        adapted,
        correction=None,
    ):
        config = self.config
        m, v = new_moments(config, first_moment, second_moment, gradient)
        step_size = learning_rate if correction is None else learning_rate * correction
        new = variable - step_size * m / (tf.sqrt(v) + config.epsilon)
        if weight_decay:
            new -= learning_rate * weight_decay * variable
        return new, m, v

    def update_small(self, handles, gradient, weight_decay, adapted, learning_rate, correction=None):
        config = self.config
        variable, first_moment, second_moment = handles
        if weight_decay:
            value = tf.ensure_shape(
                tf.raw_ops.ReadVariableOp(resource=variable, dtype=tf.float32), gradient.shape
            )
            tf.raw_ops.AssignSubVariableOp(resource=variable, value=learning_rate * weight_decay * value)
        tf.raw_ops.ResourceApplyAdam(
            var=variable,
            m=first_moment,
            v=second_moment,
            beta1_power=0.0,  # so that the operation's own bias correction is a factor of 1
            beta2_power=0.0,
            lr=learning_rate if correction is None else learning_rate * correction,
            beta1=config.beta_1,
            beta2=config.beta_2,
            epsilon=config.epsilon,
            grad=gradient,
        )


def new_moments(config, first_moment, second_moment, gradient):
    """The moments after an update: decaying means of the gradient and of its square."""
    first = config.beta_1 * first_moment + (1.0 - config.beta_1) * gradient
    second = config.beta_2 * second_moment + (1.0 - config.beta_2) * tf.square(gradient)
    return first, second


def beta_powers(config, step):
    """`beta_1` and `beta_2` to the power of the number of updates, this one included."""
    updates = tf.cast(step + 1, tf.float32)
    return tf.pow(config.beta_1, updates), tf.pow(config.beta_2, updates)
