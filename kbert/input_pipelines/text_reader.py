"""Labelled rows, tokenized in memory with the same tokenizer that is exported."""

import numpy as np
import tensorflow as tf

from kbert.cli.progress import Progress
from kbert.cli.shares import say_share
from kbert.input_pipelines.batches import Rows
from kbert.input_pipelines.distinct_batches import DistinctBatches
from kbert.input_pipelines.epochs import endless_epochs, own_rows

_ROWS_AT_ONCE = 2048


def tokenize_rows(rows, text_inputs, length_name: str = "max_seq_length") -> dict[str, np.ndarray]:
    """Tokenizes all rows, and says how many are cut. Empty texts stand for missing ones, and do not count.

    Args:
      rows: a list of `LabelledText`.
      text_inputs: a `TextInputs`, or what reads long texts in another way, with its `rows`, `left_out` and
        `max_seq_length`.
      length_name: what that length is called where texts are longer.

    Returns:
      dict name -> int32 array of shape [rows, max_seq_length].
    """
    packed, num_cut, progress = [], 0, Progress("Tokenized", "texts", len(rows))
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        batch = rows[start : start + _ROWS_AT_ONCE]
        has_pairs = batch[0].text_pair is not None
        pairs = {"text_pair": tf.constant([row.text_pair for row in batch])} if has_pairs else {}
        texts = tf.constant([row.text for row in batch])
        features, truncated = text_inputs.rows(texts, pad_to_longest=False, **pairs)
        num_cut += int(np.sum(truncated))
        packed.append(features)
        progress.report(start + len(batch))
    what = f"are longer than {length_name}={text_inputs.max_seq_length} tokens, and {text_inputs.left_out}."
    say_share(num_cut, sum(bool(row.text or row.text_pair) for row in rows), "texts", what)
    return {name: np.concatenate([features[name].numpy() for features in packed]) for name in packed[0]}


class RowsInMemory(Rows):
    """Tokenized rows. Every epoch is a new permutation, which depends only on the seed and its number.

    With several input pipelines each gives its rows of every batch; together they are the batches of a single
    pipeline.

    Args:
      features: name -> array with the values of all rows.
      owners: as of `Rows`.
      texts_apart: the texts of each row, as of `DistinctBatches`: no row of a batch holds a text of another
        one, and an epoch has only full batches. The pipeline raises ValueError when no such order is found.
      name: what messages call them.
    """

    def __init__(
        self, features: dict[str, np.ndarray], owners=None, texts_apart=None, name="the training file"
    ):
        self.features, self.owners, self._texts_apart, self.name = features, owners, texts_apart, name
        (self.num_rows,) = {len(values) for values in features.values()}

    def shuffled(self, batch_size, seed, start_example, share):
        """See `Rows`."""

        def permutation(seed):
            order = tf.random.experimental.stateless_shuffle(
                tf.range(self.num_rows, dtype=tf.int64), seed=tf.stack([seed, 0])
            )
            return tf.data.Dataset.from_tensor_slices(order)

        epoch, in_epoch = permutation, self.num_rows
        if self._texts_apart is not None:
            distinct = DistinctBatches(self._texts_apart, batch_size)
            epoch, in_epoch = _distinct_epochs(distinct), distinct.num_batches * batch_size
        numbers = endless_epochs(epoch, in_epoch, seed, start_example).batch(batch_size, drop_remainder=True)
        if share.num_input_pipelines > 1:
            numbers = numbers.map(lambda rows: own_rows(rows, batch_size, share))
        return self._gather(numbers)

    def in_order(self, batch_size):
        """See `Rows`."""
        return self._gather(tf.data.Dataset.range(self.num_rows).batch(batch_size))

    def _gather(self, numbers):
        """Batches of row numbers -> batches of features."""
        tables = {name: tf.constant(values) for name, values in self.features.items()}

        def gather(rows):
            return {name: tf.gather(table, rows) for name, table in tables.items()}

        return numbers.map(gather, num_parallel_calls=tf.data.AUTOTUNE)


def _distinct_epochs(distinct: DistinctBatches):
    def epoch(seed):
        order = tf.numpy_function(distinct.order, [seed], tf.int64, stateful=False)
        return tf.data.Dataset.from_tensor_slices(tf.ensure_shape(order, [None]))

    return epoch
