"""Dynamic loss scaling, which keeps small gradients from becoming 0 in float16."""

import tensorflow as tf

# NVIDIA's Apex, apex/amp/scaler.py, after arXiv 1710.03740, section 3.2: doubled after 2,000 good steps,
# halved at an overflow, at most 2**24.
FIRST_SCALE, LARGEST_SCALE, SMALLEST_SCALE = 2.0**15, 2.0**24, 1.0
STEPS_TO_GROW = 2000


class DynamicLossScale:
    """The factor of the mean loss of a micro-batch: it grows after many good steps, shrinks after overflows.

    A step whose gradients are not finite is skipped: it updates only this scale. Create the object in the
    strategy's scope. All replicas hold the same gradients, so each makes the same change to its own copy.
    """

    def __init__(self):
        self.scale = tf.Variable(FIRST_SCALE, trainable=False, name="loss_scale")
        self._good_steps = tf.Variable(0, dtype=tf.int64, trainable=False, name="good_steps")
        self.skipped_steps = tf.Variable(0, dtype=tf.int64, trainable=False, name="skipped_steps")

    def state(self) -> dict[str, tf.Variable]:
        """Name -> variable: the scale, good steps since its last change, steps skipped so far."""
        return {
            "loss_scale/scale": self.scale,
            "loss_scale/good_steps": self._good_steps,
            "loss_scale/skipped_steps": self.skipped_steps,
        }

    def update(self, finite):
        """Adjusts the scale after a step. Call it in replica context.

        Args:
          finite: bool scalar, whether all gradients of the step were finite.
        """
        scale, good_steps = self.scale.read_value(), self._good_steps.read_value() + 1
        grows = finite & (good_steps >= STEPS_TO_GROW)
        larger = tf.where(grows, tf.minimum(2.0 * scale, LARGEST_SCALE), scale)
        smaller = tf.maximum(0.5 * scale, SMALLEST_SCALE)
        # Assigns by handle: in replica context a handle is that of the replica's own copy.
        for variable, value in (
            (self.scale, tf.where(finite, larger, smaller)),
            (self._good_steps, tf.where(finite & ~grows, good_steps, 0)),
            (self.skipped_steps, self.skipped_steps.read_value() + tf.cast(~finite, tf.int64)),
        ):
            tf.raw_ops.AssignVariableOp(resource=variable.handle, value=value)
