"""Shuffled epochs without end, which can be entered at any example."""

import tensorflow as tf

from kbert.features import EXAMPLE_WEIGHTS


def endless_epochs(make_epoch, num_examples: int, seed: int, start_example: int) -> tf.data.Dataset:
    """Chains epochs, each in an order of its own that depends on `seed` and its number alone.

    So the data position is one number, the examples consumed so far: a resumed run sees exactly the
    examples that the uninterrupted one would have seen.

    Args:
      make_epoch: function from a scalar int64 tensor, the epoch's seed, to a dataset of its examples.
      num_examples: examples in one epoch.
      seed: the run's seed.
      start_example: how many examples have been consumed.
    """
    first_epoch, skipped = divmod(start_example, num_examples)

    def epoch(number):
        examples = make_epoch(tf.constant(seed, tf.int64) * 1_000_003 + number)
        return examples.skip(tf.where(tf.equal(number, first_epoch), tf.constant(skipped, tf.int64), 0))

    return tf.data.Dataset.counter(start=first_epoch).flat_map(epoch)


def pad_last_batch(batches: tf.data.Dataset, batch_size: int, with_fill: bool) -> tf.data.Dataset:
    """Adds `example_weights`, and fills the last batch up with weightless copies where asked.

    Replicas and XLA want whole batches; a single device does without the extra work.
    """

    def weigh(batch):
        size = tf.shape(next(iter(batch.values())))[0]
        missing = batch_size - size if with_fill else 0
        rows = tf.minimum(tf.range(size + missing), size - 1)  # the last row again and again
        weights = tf.cast(tf.range(size + missing) < size, tf.float32)
        filled = {name: tf.gather(value, rows) for name, value in batch.items()} | {EXAMPLE_WEIGHTS: weights}
        if with_fill:
            for value in filled.values():
                value.set_shape([batch_size, *value.shape[1:]])
        return filled

    return batches.map(weigh, num_parallel_calls=tf.data.AUTOTUNE)
