"""Labelled rows -> batches, tokenized in memory with the same tokenizer that is exported."""

import numpy as np
import tensorflow as tf
from absl import logging

from kbert.cli.progress import Progress
from kbert.features import ENCODER_INPUTS
from kbert.input_pipelines.distinct_batches import DistinctBatches
from kbert.input_pipelines.epochs import (
    WHOLE,
    endless_epochs,
    pad_last_batch,
    require_share,
    without_autotune,
)
from kbert.tokenization.text_inputs import TextInputs

_ROWS_AT_ONCE = 2048
# Lengths are rounded up to a multiple of this, so that few shapes occur: each new shape needs a compilation.
_LENGTH_MULTIPLE = 16


def tokenize_rows(rows, text_inputs) -> dict[str, np.ndarray]:
    """Tokenizes all rows.

    Args:
      rows: a list of `LabelledText`.
      text_inputs: a `TextInputs`, or another function from string tensors `text`, `text_pair` (or None) to
        the encoder inputs, int32 of shape [batch, max_seq_length].

    Returns:
      dict name -> int32 array of shape [rows, max_seq_length].
    """
    packed, num_cut, progress = [], 0, Progress("Tokenized", "texts", len(rows))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        batch = rows[start : start + _ROWS_AT_ONCE]
        pairs = None if batch[0].text_pair is None else tf.constant([row.text_pair for row in batch])
        texts = tf.constant([row.text for row in batch])
        if isinstance(text_inputs, TextInputs):
            features, truncated = text_inputs.rows(texts, pairs, pad_to_longest=False)
            num_cut += int(np.sum(truncated))
        else:
            features = text_inputs(texts, pairs)
        packed.append(features)
        progress.report(start + len(batch))
    if num_cut:
        logging.info(
            "%s of %s texts (%.2g%%) are longer than max_seq_length=%d tokens, and are cut at the end.",
            f"{num_cut:,}", f"{len(rows):,}", 100 * num_cut / len(rows), text_inputs.max_seq_length,
        )  # fmt: skip
    return {name: np.concatenate([features[name].numpy() for features in packed]) for name in packed[0]}


def training_batches(
    features: dict[str, np.ndarray],
    batch_size: int,
    seed: int,
    start_example: int,
    pad_to_longest: bool,
    *,
    share=WHOLE,
    texts_apart=None,
) -> tf.data.Dataset:
    """Endless batches. Every epoch is a new permutation, which depends only on `seed` and the epoch's number.

    With several input pipelines, `share` (a `Share` or a `tf.distribute.InputContext`) says which one this
    is. Each gives its rows of every batch; together they are the batches of a single pipeline.

    With `texts_apart`, a list of texts for each row, no two rows of a batch have a text in common, see
    `DistinctBatches`. An epoch then has only full batches.

    Raises:
      ValueError: when there are fewer rows than one batch, or `batch_size` is not divisible by the number of
        pipelines; later, in the pipeline, when no order with `texts_apart` is found.
    """
    (num_examples,) = {len(values) for values in features.values()}
    require_one_batch(num_examples, batch_size)
    require_share(share, batch_size)

    def shuffled(seed):
        order = tf.random.experimental.stateless_shuffle(
            tf.range(num_examples, dtype=tf.int64), seed=tf.stack([seed, 0])
        )
        return tf.data.Dataset.from_tensor_slices(order)

    epoch, in_epoch = shuffled, num_examples
    if texts_apart is not None:
        distinct = DistinctBatches(texts_apart, batch_size)
        epoch, in_epoch = _distinct_epochs(distinct), distinct.num_batches * batch_size
    batches = endless_epochs(epoch, in_epoch, seed, start_example).batch(batch_size, drop_remainder=True)
    if share.num_input_pipelines > 1:
        batches = batches.map(lambda rows: own_rows(rows, batch_size, share))
    return without_autotune(_gather(batches, features, pad_to_longest).prefetch(tf.data.AUTOTUNE))


def _distinct_epochs(distinct: DistinctBatches):
    def epoch(seed):
        order = tf.numpy_function(distinct.order, [seed], tf.int64, stateful=False)
        return tf.data.Dataset.from_tensor_slices(tf.ensure_shape(order, [None]))

    return epoch


def require_one_batch(num_examples: int, batch_size: int):
    """Raises ValueError when there are fewer rows than one batch."""
    if num_examples < batch_size:
        raise ValueError(
            f"the training file has {num_examples} rows, fewer than one batch of {batch_size}; give more, "
            f"or set train_batch_size={num_examples} or lower."
        )


def evaluation_batches(
    features: dict[str, np.ndarray],
    batch_size: int,
    pad_to_longest: bool,
    with_fill: bool = False,
    *,
    share=WHOLE,
) -> tf.data.Dataset:
    """Every row once, in order, with `example_weights`; see `pad_last_batch` for `with_fill`.

    Each of several input pipelines (see `training_batches`) gives its rows of every batch; the last batch is
    then always filled up.
    """
    require_share(share, batch_size)
    (num_examples,) = {len(values) for values in features.values()}
    batches = tf.data.Dataset.range(num_examples).batch(batch_size)
    batches = _gather(batches, features, pad_to_longest)
    if share.num_input_pipelines == 1:
        filled = pad_last_batch(batches, batch_size, with_fill)
        return without_autotune(filled.prefetch(tf.data.AUTOTUNE))

    def own(batch):
        return {name: own_rows(value, batch_size, share) for name, value in batch.items()}

    own_batches = pad_last_batch(batches, batch_size, with_fill=True).map(own)
    return without_autotune(own_batches.prefetch(tf.data.AUTOTUNE))


def own_rows(value, batch_size: int, share):
    """The rows of a whole batch that belong to a share."""
    size = batch_size // share.num_input_pipelines
    return value[share.input_pipeline_id * size : (share.input_pipeline_id + 1) * size]


def _gather(batches, features, pad_to_longest):
    """Batches of row numbers -> batches of features."""
    tables = {name: tf.constant(values) for name, values in features.items()}

    def gather(rows):
        batch = {name: tf.gather(table, rows) for name, table in tables.items()}
        return trim_padding(batch) if pad_to_longest else batch

    return batches.map(gather, num_parallel_calls=tf.data.AUTOTUNE)


def trim_padding(batch: dict) -> dict:
    """Removes columns that are padding in every sequence of the batch; the length stays a multiple of 16.

    Args:
      batch: name -> tensor; all but the encoder inputs stay as they are.
    """
    longest = tf.reduce_max(tf.reduce_sum(batch["input_mask"], axis=-1))
    length = (longest + _LENGTH_MULTIPLE - 1) // _LENGTH_MULTIPLE * _LENGTH_MULTIPLE
    return batch | {name: value[..., :length] for name, value in batch.items() if name in ENCODER_INPUTS}
