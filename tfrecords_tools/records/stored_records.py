"""Reads records as they are stored: one by one to show them, or in batches to count them.

Training reads with kbert/input_pipelines/records/record_reader.py, which also shuffles and draws dynamic
masks.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from kbert.features import Feature
from kbert.input_pipelines.records.record_files import first_damage, open_shard
from kbert.manifest import Manifest


def read_records(
    input_dir: str | Path, manifest: Manifest, start: int = 0
) -> Iterator[dict[str, np.ndarray]]:
    """Yields the examples of a folder of records, shard by shard.

    Args:
      input_dir: the folder.
      manifest: its manifest.
      start: how many examples to skip; whole shards before it are not opened.

    Returns:
      dicts of arrays with the dtypes and shapes of the manifest.

    Raises:
      ValueError: for a shard that is damaged or does not hold what the manifest says.
    """
    import tensorflow as tf  # late: it takes seconds, and a wrong folder has been reported by now

    for shard in manifest.shards:
        if start >= shard.num_examples:
            start -= shard.num_examples
            continue
        path = Path(input_dir) / shard.file
        records = open_shard(path).skip(start)
        start = 0
        with _damage_named(path):
            for record in records.as_numpy_iterator():
                example = tf.train.Example.FromString(record)
                yield {
                    name: _values(example, name, feature, path) for name, feature in manifest.features.items()
                }


def read_batches(
    input_dir: str | Path, manifest: Manifest, batch_size: int
) -> Iterator[dict[str, np.ndarray]]:
    """Yields all examples of a folder of records in batches; no batch spans two shards.

    Returns:
      dicts of arrays of shape [at most batch_size, *shape of the feature].

    Raises:
      ValueError: for a shard that is damaged or does not hold what the manifest says, or for ids, labels or
        positions that are out of range.
    """
    import tensorflow as tf

    from kbert.input_pipelines.records import record_ranges

    for shard in manifest.shards:
        path = Path(input_dir) / shard.file
        batches = open_shard(path).batch(batch_size)
        batches = batches.map(lambda serialized: record_ranges.parse(serialized, manifest))
        with _damage_named(path):
            try:
                for batch in batches.prefetch(1).as_numpy_iterator():
                    if wrong := record_ranges.wrong_numbers(batch, manifest):
                        raise ValueError(f"{path}: {wrong}; make the records again.")
                    yield batch
            except tf.errors.InvalidArgumentError:  # a wrong shape, which `read_records` names more clearly
                for _ in read_records(input_dir, manifest):
                    pass
                raise


@contextlib.contextmanager
def _damage_named(path):
    """Turns TensorFlow's error about a damaged file into a ValueError that names file and record."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.DataLossError:
        _, number = first_damage(path)
        raise ValueError(f"{path}: record {number} is damaged; make the records again.") from None


def _values(example, name, feature: Feature, path):
    stored = example.features.feature[name]
    values = stored.float_list.value if feature.dtype == "float32" else stored.int64_list.value
    if len(values) != int(np.prod(feature.shape)):
        raise ValueError(
            f"{path}: feature {name!r} holds {len(values)} values, but the manifest says shape "
            f"{list(feature.shape)}; make the records again."
        )
    return np.array(values, feature.dtype).reshape(feature.shape)
