"""Learning rates by step."""

import tensorflow as tf


class LinearWarmupDecay:
    """Linear warm-up from 0, then linear decay to 0 at the last step.

    During warm-up the rate is `learning_rate * step / num_warmup_steps`; after it the decay counts from
    step 0, so the rate steps down by `learning_rate * num_warmup_steps / num_train_steps` where warm-up
    ends. Source: google-research/bert, optimization.py, `create_optimizer`.

    Args:
      learning_rate: the highest rate.
      num_train_steps: where the rate reaches 0.
      num_warmup_steps: may be 0.

    Call arguments:
      step: int scalar tensor, steps taken so far.

    Returns:
      float32 scalar tensor.
    """

    def __init__(self, learning_rate: float, num_train_steps: int, num_warmup_steps: int):
        self.learning_rate = learning_rate
        self.num_train_steps = num_train_steps
        self.num_warmup_steps = num_warmup_steps

    def __call__(self, step):
        step = tf.cast(step, tf.float32)
        decayed = self.learning_rate * tf.maximum(1.0 - step / self.num_train_steps, 0.0)
        if not self.num_warmup_steps:
            return decayed
        warming = self.learning_rate * step / self.num_warmup_steps
        return tf.where(step < self.num_warmup_steps, warming, decayed)
