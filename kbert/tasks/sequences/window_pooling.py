"""The logits of the windows of a text -> those of the text; the same in evaluations and in a SavedModel."""

import tensorflow as tf

from kbert.tasks.temperature import SOFTMAX


def pool_windows(logits, owners, num_texts, pooling: str, kind: str | None = None):
    """One row of logits for each text. The order of its windows does not matter.

    The logits of a text with one window are those of the window, whatever the pooling.

    Args:
      logits: float32 tensor of shape [windows, labels].
      owners: int32 tensor of shape [windows], the text of each, from 0 on; every text has a window.
      num_texts: int32 scalar.
      pooling: "mean" and "max" are taken for each label over all windows. "vote": each window votes for its
        most probable label (or, if `kind` is "sigmoid", for or against each label), and the mean is taken
        over the windows that voted like most. The larger mean of all windows decides where votes are equal.
      kind: "softmax", one label of several, or "sigmoid", each label for itself; only "vote" asks.

    Returns:
      float32 tensor of shape [texts, labels].
    """
    if pooling == "max":
        return tf.math.unsorted_segment_max(logits, owners, num_texts)
    if pooling == "mean":
        return _mean(logits, tf.ones_like(logits), owners, num_texts)
    agree = _agree_on_one if kind == SOFTMAX else _agree_on_each
    return _mean(logits, agree(logits, owners, num_texts), owners, num_texts)


def _mean(logits, weights, owners, num_texts):
    total = tf.math.unsorted_segment_sum(logits * weights, owners, num_texts)
    return total / tf.math.unsorted_segment_sum(weights, owners, num_texts)


def _agree_on_one(logits, owners, num_texts):
    """float32 like `logits`: 1 for windows whose most probable label is that of most windows of the text."""
    own = tf.argmax(logits, axis=1, output_type=tf.int32)
    votes = tf.math.unsorted_segment_sum(tf.one_hot(own, tf.shape(logits)[1]), owners, num_texts)
    leads = tf.equal(votes, tf.reduce_max(votes, axis=1, keepdims=True))
    means = _mean(logits, tf.ones_like(logits), owners, num_texts)
    elected = tf.argmax(tf.where(leads, means, -float("inf")), axis=1, output_type=tf.int32)
    agrees = tf.equal(own, tf.gather(elected, owners))
    return tf.cast(agrees, tf.float32)[:, tf.newaxis] * tf.ones_like(logits)


def _agree_on_each(logits, owners, num_texts):
    """float32 like `logits`: 1 where a window is for a label as most are, or against it as most are."""
    is_for = logits >= 0.0
    balance = tf.math.unsorted_segment_sum(tf.where(is_for, 1.0, -1.0), owners, num_texts)
    means = _mean(logits, tf.ones_like(logits), owners, num_texts)
    elected = tf.where(tf.equal(balance, 0.0), means >= 0.0, balance > 0.0)
    return tf.cast(tf.equal(is_for, tf.gather(elected, owners)), tf.float32)
