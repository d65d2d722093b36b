"""TFRecord shards + manifest -> batches."""

from pathlib import Path

import tensorflow as tf

from kbert.input_pipelines.epochs import endless_epochs, pad_last_batch
from kbert.manifest import Manifest

SHUFFLE_BUFFER = 10_000
_SHARDS_AT_ONCE = 8


def training_batches(
    directory, manifest: Manifest, batch_size: int, seed: int, start_example: int = 0
) -> tf.data.Dataset:
    """Endless shuffled batches, each a dict name -> tensor of shape [batch_size, ...].

    Shards are visited in a new order every epoch, several at a time, and their records shuffled in a
    buffer; the order depends on `seed` and the epoch alone.

    Raises:
      ValueError: when the records are fewer than one batch.
    """
    require_one_batch(directory, manifest, batch_size)
    paths = _shard_paths(directory, manifest)

    def epoch(seed):
        order = tf.random.experimental.stateless_shuffle(paths, seed=tf.stack([seed, 0]))
        records = tf.data.Dataset.from_tensor_slices(order).interleave(
            tf.data.TFRecordDataset,
            cycle_length=min(_SHARDS_AT_ONCE, len(paths)),
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )
        return records.shuffle(SHUFFLE_BUFFER, seed=seed, reshuffle_each_iteration=False)

    records = endless_epochs(epoch, manifest.num_examples, seed, start_example)
    batches = records.batch(batch_size, drop_remainder=True)
    return _parse(batches, manifest).prefetch(tf.data.AUTOTUNE)


def require_one_batch(directory, manifest: Manifest, batch_size: int):
    """Raises ValueError when the records are fewer than one batch."""
    if manifest.num_examples < batch_size:
        raise ValueError(
            f"{directory} holds {manifest.num_examples} examples, fewer than one batch of {batch_size}; "
            "make more records or lower train_batch_size."
        )


def evaluation_batches(
    directory, manifest: Manifest, batch_size: int, with_fill: bool = False, max_batches: int = -1
) -> tf.data.Dataset:
    """Every record once, in order, with `example_weights`; see `pad_last_batch` for `with_fill`."""
    records = tf.data.TFRecordDataset(_shard_paths(directory, manifest))
    batches = _parse(records.batch(batch_size).take(max_batches), manifest)
    return pad_last_batch(batches, batch_size, with_fill).prefetch(tf.data.AUTOTUNE)


def _shard_paths(directory, manifest):
    return [str(Path(directory) / shard.file) for shard in manifest.shards]


def _parse(batches, manifest):
    """Serialized tf.train.Example batches -> dicts with the dtypes of the manifest."""
    # tf.train.Example stores int64 only; the model's contract is int32.
    stored = {"int32": tf.int64, "float32": tf.float32}
    layout = {
        name: tf.io.FixedLenFeature(feature.shape, stored[feature.dtype])
        for name, feature in manifest.features.items()
    }

    def parse(serialized):
        examples = tf.io.parse_example(serialized, layout)
        return {name: tf.cast(value, manifest.features[name].dtype) for name, value in examples.items()}

    return batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
