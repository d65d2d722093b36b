"""Reads records one by one, as they are stored, to show them.

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
    for shard in manifest.shards:
        if start >= shard.num_examples:
            start -= shard.num_examples
            continue
        path = Path(input_dir) / shard.file
        records = open_shard(path).skip(start)
        start = 0
        with _damage_named(path):
            for record in records.as_numpy_iterator():
                example = _example(record, path)
                yield {
                    name: _values(example, name, feature, path) for name, feature in manifest.features.items()
                }


def _example(record, path):
    import tensorflow as tf  # late: it takes seconds, and a wrong folder has been reported by now
    from google.protobuf.message import DecodeError

    try:
        return tf.train.Example.FromString(record)
    except DecodeError:
        raise ValueError(
            f"{path} holds a record that is no tf.train.Example; make the records again."
        ) from None


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
    try:
        return np.array(values, feature.dtype).reshape(feature.shape)
    except OverflowError:
        raise ValueError(
            f"{path}: feature {name!r} holds a number outside of {feature.dtype}; make the records again."
        ) from None
