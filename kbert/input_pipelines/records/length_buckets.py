"""Batches of examples of similar length, with padding cut to the length of their bucket.

Shapes differ between buckets, and the last batches of an epoch are smaller. So this is for one device without
XLA.
"""

from collections.abc import Mapping, Sequence

import tensorflow as tf

from kbert.features import Feature

_LENGTH_FEATURE = "input_mask"


class LengthBuckets:
    """Sorts examples into buckets by their length; each bucket has its own batch size.

    Args:
      lengths: ascending lengths, for example (32, 64, 96, 128); the length of the records is added if it is
        missing. A batch of every bucket has about as many tokens as `batch_size` examples of full length.
      features: name -> `Feature` of the examples; features whose last axis is as long as that of `input_ids`
        are cut.
      batch_size: the batch size for sequences of full length.

    Raises:
      ValueError: for lengths that are not ascending or longer than the records.
    """

    def __init__(self, lengths: Sequence[int], features: Mapping[str, Feature], batch_size: int):
        longest = features["input_ids"].shape[-1]
        bounds = list(lengths)
        if not bounds or bounds[0] < 1 or any(a >= b for a, b in zip(bounds, bounds[1:], strict=False)):
            raise ValueError(f"length_buckets={bounds} must be ascending lengths, for example 32,64,96,128.")
        if bounds[-1] > longest:
            raise ValueError(
                f"length_buckets={bounds} goes beyond max_seq_length={longest} of the records; leave out "
                f"lengths above {longest}."
            )
        if bounds[-1] < longest:
            bounds.append(longest)
        self.batch_sizes = {bound: batch_size * longest // bound for bound in bounds}
        self._cut = [name for name, feature in features.items() if feature.shape[-1:] == (longest,)]

    def batches(self, examples: tf.data.Dataset) -> tf.data.Dataset:
        """Single examples -> batches, every example once; the smaller last batches of buckets at the end."""
        bounds = list(self.batch_sizes)
        grouped = examples.bucket_by_sequence_length(
            _length,
            bucket_boundaries=[bound + 1 for bound in bounds[:-1]],
            bucket_batch_sizes=list(self.batch_sizes.values()),
            no_padding=True,
        )
        return grouped.map(self._trim, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)

    def num_batches(self, batches: tf.data.Dataset) -> int:
        """The number of batches that `self.batches` makes of an epoch. Reads the epoch once.

        Args:
          batches: the epoch in batches of any size; only its lengths are read.
        """
        bounds = tf.constant(list(self.batch_sizes))

        def count(counts, batch):
            bucket = tf.searchsorted(bounds, _lengths(batch))
            return counts + tf.math.bincount(bucket, minlength=len(self.batch_sizes), dtype=tf.int64)

        counts = batches.reduce(tf.zeros([len(self.batch_sizes)], tf.int64), count).numpy().tolist()
        return sum(-(-n // size) for n, size in zip(counts, self.batch_sizes.values(), strict=True))

    def _trim(self, batch):
        bounds = tf.constant(list(self.batch_sizes))
        length = bounds[tf.searchsorted(bounds, [_length(batch)])[0]]
        return {name: value[..., :length] if name in self._cut else value for name, value in batch.items()}


def _length(example):
    """int32 scalar: the number of tokens of an example, or the largest one of a whole batch."""
    return tf.reduce_max(_lengths(example))


def _lengths(batch):
    """int32 (batch,): the number of tokens of each example."""
    return tf.reduce_sum(batch[_LENGTH_FEATURE], axis=-1)
