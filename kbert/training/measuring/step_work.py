"""Counts the tokens, predictions and positions of a batch, inside the training step."""

import tensorflow as tf

from kbert.training.measuring.training_flops import StepWork


def count_work(batch) -> tf.Tensor:
    """The numbers of `StepWork` for a batch.

    Args:
      batch: a dict with `input_mask`, of shape (..., seq_length), and optionally `masked_lm_weights`.

    Returns:
      float32 tensor of shape (6,), which can be added over replicas and steps. A count is exact up to
      2^24 = 16.8 million and has seven correct digits above that.
    """
    mask = tf.cast(batch["input_mask"], tf.float32)
    lengths = tf.reduce_sum(mask, axis=-1)
    predictions = tf.constant(0.0)
    if "masked_lm_weights" in batch:
        predictions = tf.math.count_nonzero(batch["masked_lm_weights"], dtype=tf.float32)
    work = StepWork(
        examples=tf.cast(tf.shape(mask)[0], tf.float32),
        sequences=tf.cast(tf.size(lengths), tf.float32),
        tokens=tf.reduce_sum(lengths),
        token_pairs=tf.reduce_sum(tf.square(lengths)),
        predictions=predictions,
        positions=tf.cast(tf.size(mask), tf.float32),
    )
    return tf.stack(work.numbers())
