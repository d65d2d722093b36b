"""TFRecord shards + manifest -> batches."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import tensorflow as tf
from absl import logging

from kbert.cli.progress import activity
from kbert.features import EXAMPLE_WEIGHTS
from kbert.input_pipelines.epochs import (
    WHOLE,
    endless_epochs,
    pad_last_batch,
    require_share,
    share_range,
    without_autotune,
)
from kbert.input_pipelines.records import record_ranges
from kbert.input_pipelines.records.dynamic_masks import DynamicMasks, has_dynamic_masks
from kbert.input_pipelines.records.record_files import wrong_shards
from kbert.manifest import Manifest, Shard
from kbert.tokenization.vocabulary_files import read_vocabulary

SHUFFLE_BUFFER = 10_000
_SHARDS_AT_ONCE = 8
_RECORDS_IN_TURN = 16
# How many records are parsed at once if the batches are made later.
_PARSED_AT_ONCE = 256
# The seed of the masks of an evaluation, which are the same every time.
_EVALUATION_SEED = (0,)
# Raised for a damaged frame, for fewer records than the manifest says, and for a record without its features.
_DAMAGE_ERRORS = (tf.errors.DataLossError, tf.errors.FailedPreconditionError, tf.errors.InvalidArgumentError)


def training_batches(
    directory,
    manifest: Manifest,
    batch_size: int,
    seed: int,
    start_example: int = 0,
    *,
    share=WHOLE,
) -> tf.data.Dataset:
    """Endless shuffled batches, each a dict name -> tensor of shape [batch_size, ...].

    In every epoch the shards are read in a new order, several at a time, and their records are shuffled in a
    buffer. Records without masks get new masks in every epoch. Order and masks depend only on `seed` and the
    position.

    Args:
      directory: the folder of the records.
      manifest: their manifest.
      batch_size: examples of one step, over all pipelines; each of n pipelines gives `batch_size / n`.
      seed: the run's seed.
      start_example: the number of examples consumed so far, over all pipelines.
      share: which of several input pipelines this is: a `Share` or a `tf.distribute.InputContext`. Each
        pipeline has its own records, and reads each of them once in an epoch.

    Raises:
      ValueError: when there are fewer records than one batch, or `batch_size` is not divisible by the number
        of pipelines.
    """
    require_one_batch(directory, manifest, batch_size)
    require_share(share, batch_size)
    start, end = share_range(manifest.num_examples, share)
    own = _Files(directory, locate_records(manifest.shards, start, end))

    def epoch(seed):
        records = own.shuffled_records(seed)
        return records.apply(tf.data.experimental.assert_cardinality(end - start)).shuffle(
            SHUFFLE_BUFFER, seed=seed, reshuffle_each_iteration=False
        )

    own_batch_size = batch_size // share.num_input_pipelines
    first = start_example // share.num_input_pipelines
    records = endless_epochs(epoch, end - start, seed, first)
    batches = _parse(records.batch(own_batch_size, drop_remainder=True), manifest)
    if has_dynamic_masks(manifest):
        vocabulary = read_vocabulary(directory, manifest.vocabulary)
        masks = DynamicMasks(manifest, vocabulary, (seed, share.input_pipeline_id))
        batches = masks(batches, first, own_batch_size)
    return without_autotune(batches.prefetch(tf.data.AUTOTUNE))


def require_one_batch(directory, manifest: Manifest, batch_size: int):
    """Raises ValueError when there are fewer records than one batch."""
    if manifest.num_examples < batch_size:
        raise ValueError(
            f"{directory} holds {manifest.num_examples} examples, fewer than one batch of {batch_size}; "
            "make more records or lower train_batch_size."
        )


def evaluation_batches(
    directory,
    manifest: Manifest,
    batch_size: int,
    with_fill: bool = False,
    max_batches: int = -1,
    *,
    share=WHOLE,
    in_turn: bool = False,
) -> tf.data.Dataset:
    """Every record once, in order, with `example_weights`; see `pad_last_batch` for `with_fill`.

    Records without masks get the same masks every time, for any batch size.

    Args:
      directory, manifest, share: as in `training_batches`. With several pipelines, all give
        the same number of batches, filled up with examples of weight 0.
      batch_size: examples of one step, over all pipelines.
      with_fill: whether to fill up the last batch.
      max_batches: stop after this number of batches; -1 for all.
      in_turn: read one record of each shard in turn, as `ShardWriter` wrote them, for a single pipeline.
    """
    require_share(share, batch_size)
    number = share.num_input_pipelines
    own_batch_size = batch_size // number

    def read_range(start, end):
        records = _Files(directory, locate_records(manifest.shards, start, end)).records(in_turn)
        records = records.apply(tf.data.experimental.assert_cardinality(end - start))
        if not has_dynamic_masks(manifest):
            return _parse(records.batch(own_batch_size), manifest)
        masks = DynamicMasks(manifest, read_vocabulary(directory, manifest.vocabulary), _EVALUATION_SEED)
        parsed = _parse(records.batch(_PARSED_AT_ONCE), manifest)
        return masks(parsed, start, _PARSED_AT_ONCE).rebatch(own_batch_size)

    start, end = share_range(manifest.num_examples, share)
    batches = pad_last_batch(read_range(start, end), own_batch_size, with_fill or number > 1)
    if number > 1:
        largest_share = -(-manifest.num_examples // number)
        missing = -(-largest_share // own_batch_size) - -(-(end - start) // own_batch_size)
        filling = pad_last_batch(read_range(0, 1), own_batch_size, True).map(_weightless)
        batches = batches.concatenate(filling.repeat(missing))
    return without_autotune(batches.take(max_batches).prefetch(tf.data.AUTOTUNE))


@contextlib.contextmanager
def naming_damaged_records(*sets):
    """Turns an error of TensorFlow about a record into a message with file and record.

    Args:
      *sets: pairs (directory, manifest); when reading fails, they are searched for the cause.

    Raises:
      ValueError: for a damaged record, or a number out of its range. Errors with another cause are raised
        unchanged.
    """
    try:
        yield
    except _DAMAGE_ERRORS as error:
        logging.info("reading failed: %s; looking for a record that is the cause.", _first_line(error))
        for directory, manifest in sets:
            with activity(f"looking for a damaged record in {directory}"):
                problem = next(wrong_shards(directory, manifest), None)
                problem = problem or next(record_ranges.wrong_records(directory, manifest), None)
            if problem:
                raise ValueError(f"{problem}; make the records again.") from error
        raise


def _first_line(error):
    return (error.message.splitlines() or [type(error).__name__])[0]


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
            [str(Path(directory) / record_range.file) for record_range in ranges], tf.string
        )
        self._skips = tf.constant([record_range.skip for record_range in ranges], tf.int64)
        self._takes = tf.constant([record_range.take for record_range in ranges], tf.int64)

    def records(self, in_turn=False):
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
        compression = tf.where(tf.strings.regex_full_match(path, r".*\.gz"), "GZIP", "")
        return tf.data.TFRecordDataset(path, compression).skip(skip).take(take)


def _parse(batches, manifest):
    """Serialized tf.train.Example batches -> dicts with the dtypes of the manifest."""

    def parse(serialized):
        examples = record_ranges.parse(serialized, manifest)
        # Before the cast, which would turn numbers outside int32 into valid-looking ones.
        with tf.control_dependencies([record_ranges.require_ranges(examples, manifest)]):
            return {name: tf.cast(value, manifest.features[name].dtype) for name, value in examples.items()}

    return batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)


def _weightless(batch):
    return batch | {EXAMPLE_WEIGHTS: tf.zeros_like(batch[EXAMPLE_WEIGHTS])}
