"""Epochs of examples as tf.data pipelines: endless, shared out among workers, with a full last batch.

Letters: N examples, n pipelines. Pipeline i reads the examples from i*N//n to (i+1)*N//n - 1. So the sizes of
shares differ by at most one, and every example is in exactly one share.
"""

from typing import NamedTuple

import tensorflow as tf

from kbert.features import EXAMPLE_WEIGHTS


class Share(NamedTuple):
    """One of several pipelines; a `tf.distribute.InputContext`, with the same fields, can be used instead."""

    num_input_pipelines: int = 1
    input_pipeline_id: int = 0


WHOLE = Share()


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


def require_share(share, batch_size: int):
    """Raises ValueError when the pipeline does not exist, or a batch cannot be divided evenly."""
    number, index = share.num_input_pipelines, share.input_pipeline_id
    if not 0 <= index < number:
        raise ValueError(
            f"input_pipeline_id={index} must lie between 0 and num_input_pipelines - 1 = {number - 1}."
        )
    if batch_size % number:
        raise ValueError(
            f"a global batch of {batch_size} examples is not divisible by {number} input pipelines; choose a "
            f"multiple of {number}."
        )


def own_rows(value, batch_size: int, share):
    """The rows of a whole batch that belong to a share."""
    size = batch_size // share.num_input_pipelines
    return value[share.input_pipeline_id * size : (share.input_pipeline_id + 1) * size]


def share_range(num_examples: int, share) -> tuple[int, int]:
    """(first example, the one after the last) of a share."""
    number, index = share.num_input_pipelines, share.input_pipeline_id
    return index * num_examples // number, (index + 1) * num_examples // number


def without_autotune(dataset):
    """The `tf.data.Dataset`, read without tf.data's tuner.

    The tuner is a thread of each iterator, which looks at it after 10 ms, 20 ms, 40 ms and so on, at last
    once a minute. In TensorFlow 2.21 an iterator that ends may wait until its tuner looks the next time,
    without using the processor, see docs/speed.md.

    Without it `num_parallel_calls=tf.data.AUTOTUNE` is a call for each core, 16 at most, and `prefetch` sees
    by itself how much is wanted. Order and values are the same.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    return dataset.with_options(options)
