"""An endless sequence of shuffled epochs, which can begin at any example."""

import tensorflow as tf

from kbert.features import EXAMPLE_WEIGHTS


def endless_epochs(make_epoch, num_examples: int, seed: int, start_example: int) -> tf.data.Dataset:
    """Concatenates epochs. The order of each epoch depends only on `seed` and the number of the epoch.

    So a single number, the examples consumed so far, is the position in the data. A resumed run sees exactly
    the examples that an uninterrupted run would have seen.

    Args:
      make_epoch: function from a scalar int64 tensor, the seed of the epoch, to a dataset of its examples.
      num_examples: the number of examples in one epoch.
      seed: the run's seed.
      start_example: the number of examples that have been consumed.
    """
    first_epoch, skipped = divmod(start_example, num_examples)

    def epoch(number):
        examples = make_epoch(tf.constant(seed, tf.int64) * 1_000_003 + number)
        return examples.skip(tf.where(tf.equal(number, first_epoch), tf.constant(skipped, tf.int64), 0))

    return tf.data.Dataset.counter(start=first_epoch).flat_map(epoch)


def pad_last_batch(batches: tf.data.Dataset, batch_size: int, with_fill: bool) -> tf.data.Dataset:
    """Adds `example_weights`. With `with_fill`, fills the last batch up with copies of weight 0.

    Several replicas and XLA need full batches; a single device saves the extra work.
    """

    def weigh(batch):
        size = tf.shape(next(iter(batch.values())))[0]
        missing = batch_size - size if with_fill else 0
        rows = tf.minimum(tf.range(size + missing), size - 1)  # repeats the last row
        weights = tf.cast(tf.range(size + missing) < size, tf.float32)
        filled = {name: tf.gather(value, rows) for name, value in batch.items()} | {EXAMPLE_WEIGHTS: weights}
        if with_fill:
            for value in filled.values():
                value.set_shape([batch_size, *value.shape[1:]])
        return filled

    return batches.map(weigh, num_parallel_calls=tf.data.AUTOTUNE)
