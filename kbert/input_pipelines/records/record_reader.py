"""TFRecord shards + manifest -> rows."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf
from absl import logging

from kbert.cli.progress import activity
from kbert.input_pipelines.batches import Rows
from kbert.input_pipelines.epochs import endless_epochs, share_range
from kbert.input_pipelines.records import record_ranges
from kbert.input_pipelines.records.dynamic_masks import DynamicMasks, has_dynamic_masks
from kbert.input_pipelines.records.record_files import wrong_shards
from kbert.manifest import Manifest, Shard, read_manifest
from kbert.tokenization.vocabulary_files import read_vocabulary

SHUFFLE_BUFFER = 10_000
_SHARDS_AT_ONCE = 8
_RECORDS_IN_TURN = 16
# How many records are parsed at once if the batches are made later.
_PARSED_AT_ONCE = 256
# The seed of the masks of an evaluation, which are the same every time.
_EVALUATION_SEED = (0,)
# TensorFlow's own where nobody sets one. Beside a seed that is a tensor it cannot tell 0 from none.
_GRAPH_SEED = 87654321
# Raised for a damaged frame, for fewer records than the manifest says, and for a record without its features.
_DAMAGE_ERRORS = (tf.errors.DataLossError, tf.errors.FailedPreconditionError, *record_ranges.PARSE_ERRORS)


class RecordRows(Rows):
    """The records of a folder.

    In every epoch the shards are read in a new order, several at a time, and their records are shuffled in a
    buffer. Each of several pipelines has its own records, and reads each of them once in an epoch. Records
    without masks get new masks in every epoch; in an evaluation the same every time, for any batch size.

    Args:
      directory: the folder of the records.
      manifest: their manifest.
      in_turn: read one record of each shard in turn, as `ShardWriter` wrote them, where they are in order.
    """

    def __init__(self, directory, manifest: Manifest, in_turn: bool = False):
        self.directory, self.manifest, self._in_turn = directory, manifest, in_turn
        self.name, self.num_rows = directory, manifest.num_examples

    def shuffled(self, batch_size, seed, start_example, share):
        """See `Rows`."""
        start, end = share_range(self.num_rows, share)
        own = _Files(self.directory, locate_records(self.manifest.shards, start, end))

        def epoch(seed):
            graph = tf.compat.v1.get_default_graph()
            graph.seed = graph.seed or _GRAPH_SEED
            records = own.shuffled_records(seed)
            return records.apply(tf.data.experimental.assert_cardinality(end - start)).shuffle(
                SHUFFLE_BUFFER, seed=seed, reshuffle_each_iteration=False
            )

        own_batch_size = batch_size // share.num_input_pipelines
        first = start_example // share.num_input_pipelines
        records = endless_epochs(epoch, end - start, seed, first)
        batches = _parse(records.batch(own_batch_size, drop_remainder=True), self.manifest)
        masks = self._masks((seed, share.input_pipeline_id))
        return masks(batches, first, own_batch_size) if masks else batches

    def in_order(self, batch_size):
        """See `Rows`."""
        records = _Files(self.directory, locate_records(self.manifest.shards, 0, self.num_rows)).records(
            self._in_turn
        )
        records = records.apply(tf.data.experimental.assert_cardinality(self.num_rows))
        masks = self._masks(_EVALUATION_SEED)
        if not masks:
            return _parse(records.batch(batch_size), self.manifest)
        parsed = _parse(records.batch(_PARSED_AT_ONCE), self.manifest)
        return masks(parsed, 0, _PARSED_AT_ONCE).rebatch(batch_size)

    def require_unchanged(self):
        """See `Rows`. Records that were removed are no error: perhaps nothing needs them any more."""
        try:
            is_same = read_manifest(self.directory).fingerprint == self.manifest.fingerprint
            is_same = is_same and all(
                (Path(self.directory) / shard.file).stat().st_size == shard.num_bytes
                for shard in self.manifest.shards
            )
        except (ValueError, OSError):
            return
        if not is_same:
            raise ValueError(
                f"{self.directory}: the records were replaced while they were read, and nothing is saved "
                "since the last checkpoint. Put the old ones back, and the same command goes on from there; "
                "for the new ones choose another run_dir."
            )

    def _masks(self, seed):
        """The masks to draw; None for records that have some."""
        if not has_dynamic_masks(self.manifest):
            return None
        return DynamicMasks(self.manifest, read_vocabulary(self.directory, self.manifest.vocabulary), seed)


@contextlib.contextmanager
def naming_damaged_records(*sources):
    """Turns an error of TensorFlow about a record into a message with file and record.

    Args:
      *sources: with `directory` and `manifest`; when reading fails, they are searched for the cause. Files
        have None as their manifest, and no records.

    Raises:
      ValueError: for a damaged record, or a number out of its range. Errors with another cause are raised
        unchanged.
    """
    try:
        yield
    except _DAMAGE_ERRORS as error:
        logging.info("reading the records failed; looking for one that is the cause.")
        for source in filter(lambda source: source.manifest, sources):
            directory, manifest = source.directory, source.manifest
            with activity(f"looking for a damaged record in {directory}"):
                problem = next(wrong_shards(directory, manifest), None)
                problem = problem or next(record_ranges.wrong_records(directory, manifest), None)
            if problem:
                raise ValueError(f"{problem}; make the records again.") from error
        raise


class RecordRange(NamedTuple):
    """The `take` records of one file after the first `skip`; -1 means all up to the end of the file."""

    file: str
    skip: int
    take: int


def locate_records(shards: Sequence[Shard], start: int, end: int) -> list[RecordRange]:
    """The ranges of files that hold the records from `start` to `end` - 1, counted over all shards."""
    ranges, shard_start = [], 0
    for shard in shards:
        skip, stop = max(start - shard_start, 0), min(end - shard_start, shard.num_examples)
        if skip < stop:
            ranges.append(RecordRange(shard.file, skip, -1 if stop == shard.num_examples else stop - skip))
        shard_start += shard.num_examples
    return ranges


class _Files:
    """Ranges of TFRecord files, as datasets of serialized examples."""

    def __init__(self, directory, ranges: list[RecordRange]):
        self._paths = tf.constant(
            [os.fsencode(Path(directory) / record_range.file) for record_range in ranges], tf.string
        )
        self._skips = tf.constant([record_range.skip for record_range in ranges], tf.int64)
        self._takes = tf.constant([record_range.take for record_range in ranges], tf.int64)

    def records(self, in_turn):
        """All records, file after file, or one of each file in turn."""
        ranges = self._ranges(tf.range(len(self._paths), dtype=tf.int64))
        return (
            ranges.interleave(self._open, cycle_length=len(self._paths))
            if in_turn
            else ranges.flat_map(self._open)
        )

    def shuffled_records(self, seed):
        """All records, several files at a time; the order depends on `seed`, an int64 scalar tensor."""
        numbers = tf.range(len(self._paths), dtype=tf.int64)
        order = tf.random.experimental.stateless_shuffle(numbers, seed=tf.stack([seed, 0]))
        return self._ranges(order).interleave(
            self._open,
            cycle_length=min(_SHARDS_AT_ONCE, len(self._paths)),
            block_length=_RECORDS_IN_TURN,
            num_parallel_calls=tf.data.AUTOTUNE,
            deterministic=True,
        )

    def _ranges(self, order):
        columns = (self._paths, self._skips, self._takes)
        return tf.data.Dataset.from_tensor_slices(tuple(tf.gather(column, order) for column in columns))

    def _open(self, path, skip, take):
        is_packed = tf.strings.substr(path, -3, 3) == ".gz"  # a pattern would have to be of UTF-8
        compression = tf.where(is_packed, "GZIP", "")
        return tf.data.TFRecordDataset(path, compression).skip(skip).take(take)


def _parse(batches, manifest):
    """Serialized tf.train.Example batches -> dicts with the dtypes of the manifest."""

    def parse(serialized):
        examples = record_ranges.parse(serialized, manifest)
        # Before the cast, which would turn numbers outside int32 into valid-looking ones.
        with tf.control_dependencies([record_ranges.require_ranges(examples, manifest)]):
            return {name: tf.cast(value, manifest.features[name].dtype) for name, value in examples.items()}

    return batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
