"""Rows -> batches, whatever the rows are from: shares of workers, padding, a full last batch."""

import tensorflow as tf

from kbert.features import ENCODER_INPUTS, SCORED_TOKENS
from kbert.input_pipelines.data_files import require_one_batch
from kbert.input_pipelines.epochs import WHOLE, own_rows, pad_last_batch, require_share, without_autotune

# Lengths are rounded up to a multiple of this, so that few shapes occur: each new shape needs a compilation.
_LENGTH_MULTIPLE = 16


class Rows:
    """A source of rows.

    Attributes:
      name: what messages call it.
      num_rows: how many there are.
      owners: the index of the example that each row belongs to; None where the examples are not known.
    """

    name: object
    num_rows: int
    owners = None

    def shuffled(self, batch_size: int, seed: int, start_example: int, share) -> tf.data.Dataset:
        """The endless batches of a pipeline, without the examples consumed so far, over all pipelines."""
        raise NotImplementedError

    def in_order(self, batch_size: int) -> tf.data.Dataset:
        """Batches in which every row comes once, the last one smaller."""
        raise NotImplementedError

    def require_unchanged(self):
        """Raises ValueError where the files behind the rows were replaced since they were opened."""

    def completed(self, batches: tf.data.Dataset) -> tf.data.Dataset:
        """Batches as they are, or with what is computed from their rows."""
        return batches


def training_batches(
    rows: Rows, batch_size: int, seed: int, start_example: int = 0, pad_to_longest=False, *, share=WHOLE
) -> tf.data.Dataset:
    """Endless shuffled batches, each a dict name -> tensor of shape [batch_size, ...].

    Their order depends only on `seed` and the position.

    Args:
      rows: where they are from.
      batch_size: rows of one step, over all pipelines; each of n pipelines gives `batch_size / n`.
      seed: the run's seed.
      start_example: the number of examples consumed so far, over all pipelines.
      pad_to_longest: see `trim_padding`.
      share: which of several input pipelines this is: a `Share` or a `tf.distribute.InputContext`.

    Raises:
      ValueError: when there are fewer rows than one batch, or `batch_size` is not divisible by the number of
        pipelines; later, in the pipeline, as the source says.
    """
    require_one_batch(rows.name, rows.num_rows, batch_size)
    require_share(share, batch_size)
    batches = rows.shuffled(batch_size, seed, start_example, share)
    # Vectors of tokens are gathered from all pipelines, and none knows how long the texts of another one are.
    is_gathered = SCORED_TOKENS in batches.element_spec and share.num_input_pipelines > 1
    return _finished(rows, batches, pad_to_longest and not is_gathered)


def evaluation_batches(
    rows: Rows, batch_size: int, pad_to_longest=False, with_fill=False, max_batches: int = -1, *, share=WHOLE
) -> tf.data.Dataset:
    """Every row once, in order, with `example_weights`; see `pad_last_batch` for `with_fill`.

    Each of several input pipelines reads all batches and gives its rows of each; the last batch is then
    always filled up. So the batches are those of a single pipeline.

    Args:
      rows, batch_size, pad_to_longest, share: as for `training_batches`.
      with_fill: whether to fill up the last batch.
      max_batches: stop after this number of batches; -1 for all.

    Raises:
      ValueError: when `batch_size` is not divisible by the number of pipelines.
    """
    require_share(share, batch_size)
    own = (batch_size, share) if share.num_input_pipelines > 1 else None
    batches = pad_last_batch(rows.in_order(batch_size), batch_size, with_fill or bool(own))
    return _finished(rows, batches.take(max_batches), pad_to_longest, own)


def first_rows(rows: Rows, number: int) -> dict:
    """The features of the first `number` rows, as arrays."""
    return next(without_autotune(rows.in_order(number)).as_numpy_iterator())


def _finished(rows, batches, pad_to_longest, own=None):
    def finish(batch):
        batch = trim_padding(batch) if pad_to_longest else batch
        return {name: own_rows(value, *own) for name, value in batch.items()} if own else batch

    if pad_to_longest or own:
        batches = batches.map(finish)  # too little work for calls in parallel
    return without_autotune(rows.completed(batches).prefetch(tf.data.AUTOTUNE))


def trim_padding(batch: dict) -> dict:
    """Removes columns that are padding in every sequence of the batch; the length stays a multiple of 16.

    Args:
      batch: name -> tensor; all but the encoder inputs and `SCORED_TOKENS` stay as they are.
    """
    used = batch["input_mask"]
    if SCORED_TOKENS in batch:  # also what fills a query
        used = tf.maximum(used, batch[SCORED_TOKENS])
    longest = tf.reduce_max(tf.reduce_sum(used, axis=-1))
    length = (longest + _LENGTH_MULTIPLE - 1) // _LENGTH_MULTIPLE * _LENGTH_MULTIPLE
    along = (*ENCODER_INPUTS, SCORED_TOKENS)
    return batch | {name: value[..., :length] for name, value in batch.items() if name in along}
