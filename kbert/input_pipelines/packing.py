"""Packs several texts into a row: computes where each token of a padded batch goes.

Letters: B examples of a batch, S their padded length, R rows of L positions that they are packed into. Where
an example has several texts, each stands for itself: then B counts texts.
"""

import numpy as np
import tensorflow as tf

from kbert.features import PACKED_POSITIONS

# If the length of rows is not fixed, it is a multiple of this: then short texts leave little of a row empty,
# and only a few lengths occur.
_ROW_STEP = 64
# The cost of attention grows with the length of its rows. Rows of more than this length are not doubled.
_LONGEST_WIDENED = 256
# Rows are doubled in length only if this saves at least this share of all positions.
_WORTHWHILE = 1 / 8


def first_fit(lengths, row_length: int) -> list[list[int]]:
    """Decides which examples share a row: longest first, each goes into the first row that has room.

    "First fit decreasing" needs at most 11/9 of the smallest possible number of rows, plus a constant (D. S.
    Johnson, "Near-optimal bin packing algorithms", 1973).

    Args:
      lengths: int array `(B,)`, none above `row_length`.
      row_length: L.

    Returns:
      For each row the indices of its examples, in order; at least one row.
    """
    rows, room = [[]], np.full(len(lengths) + 1, row_length)
    for example in np.argsort(-lengths, kind="stable").tolist():
        row = int(np.argmax(room >= lengths[example]))
        if row == len(rows):
            rows.append([])
        rows[row].append(example)
        room[row] -= lengths[example]
    return rows


def packed_positions(lengths, seq_length: int, rows, row_length: int, num_rows: int) -> np.ndarray:
    """For each position of the packed rows, the position of its token in the batch.

    Args:
      lengths: int array `(B,)`, the number of real tokens of each example, which stand at its beginning.
      seq_length: S.
      rows: the result of `first_fit`, at most `num_rows` rows.
      row_length, num_rows: L and R.

    Returns:
      int32 array `(R, L)`: for each position of the rows, the position b * S + s of its token in the
      flattened batch; B * S for empty positions.
    """
    positions = np.full((num_rows, row_length), len(lengths) * seq_length, np.int32)
    for row, examples in enumerate(rows):
        tokens = [example * seq_length + np.arange(lengths[example]) for example in examples]
        joined = np.concatenate([np.zeros(0, np.int32), *tokens])
        positions[row, : len(joined)] = joined
    return positions


def fixed_rows(lengths, seq_length: int, num_rows: int) -> np.ndarray:
    """`packed_positions` of texts in exactly `num_rows` rows of length `seq_length`.

    Raises:
      ValueError: when the texts need more rows.
    """
    rows = first_fit(lengths, seq_length)
    if len(rows) > num_rows:
        raise ValueError(
            f"{len(lengths)} texts with {int(lengths.sum())} tokens do not fit into {num_rows} rows of "
            f"{seq_length}; raise packed_rows, which you may change when you resume a run."
        )
    return packed_positions(lengths, seq_length, rows, seq_length, num_rows)


def needed_rows(micro_batches, seq_length: int) -> list[np.ndarray]:
    """`packed_positions` of each micro-batch. All get the same number of rows and the same row length.

    The number of rows is what the fullest micro-batch needs. Rows are as long as the longest text, rounded
    up to a multiple of 64, or twice as long if this saves at least an eighth of the positions (texts a little
    longer than half a row leave the other half empty). From 32 rows on, their number is rounded up, by a
    sixteenth at most, because every new shape costs compilation time.
    """
    longest = max(int(lengths.max(initial=1)) for lengths in micro_batches)
    length = -(-longest // _ROW_STEP) * _ROW_STEP
    packings = [(length, [first_fit(lengths, length) for lengths in micro_batches])]
    if length <= _LONGEST_WIDENED:
        packings.append((2 * length, [first_fit(lengths, 2 * length) for lengths in micro_batches]))

    def num_positions(packing):
        length, rows_by_micro_batch = packing
        return length * max(map(len, rows_by_micro_batch))

    if num_positions(packings[-1]) > (1 - _WORTHWHILE) * num_positions(packings[0]):
        packings = packings[:1]
    length, rows_by_micro_batch = packings[-1]
    num_rows = max(map(len, rows_by_micro_batch))
    step = 2 ** max(0, num_rows.bit_length() - 5)
    num_rows = -(-num_rows // step) * step
    return [
        packed_positions(lengths, seq_length, rows, length, num_rows)
        for lengths, rows in zip(micro_batches, rows_by_micro_batch, strict=True)
    ]


def pack(
    batches: tf.data.Dataset, num_rows: int | None = None, num_micro_batches: int = 1
) -> tf.data.Dataset:
    """Adds to each batch the feature `packed_positions`, which a packed encoder needs.

    Args:
      batches: dicts with an `input_mask` `(B, S)`, or `(B, T, S)` with T texts an example, each of which is
        packed by itself; all sizes must be fixed if `num_rows` is given.
      num_rows: for fixed shapes: the number of rows for the whole batch, each of length S; it must be
        divisible by `num_micro_batches`. By default each batch has the rows that it needs, see `needed_rows`.
      num_micro_batches: over all replicas; each is packed separately.

    Raises:
      ValueError: when `num_rows` or the batch size is not divisible by `num_micro_batches`; later, in the
        pipeline, when texts do not fit.
    """
    batch_size, *_, seq_length = batches.element_spec["input_mask"].shape
    if (num_rows or 0) % num_micro_batches or (batch_size or 0) % num_micro_batches:
        raise ValueError(
            f"packed_rows={num_rows} and the batch size {batch_size} must both be divisible by the "
            f"{num_micro_batches} micro-batches (replicas x gradient_accumulation_steps)."
        )

    def pack_lengths(lengths, seq_length):
        micro_batches = np.split(lengths, num_micro_batches)
        if not num_rows:
            return np.concatenate(needed_rows(micro_batches, int(seq_length)))
        return np.concatenate(
            [
                fixed_rows(micro_batch, int(seq_length), num_rows // num_micro_batches)
                for micro_batch in micro_batches
            ]
        )

    def add_positions(batch):
        mask = batch["input_mask"]
        lengths = tf.reshape(tf.math.count_nonzero(mask, axis=-1, dtype=tf.int32), [-1])
        positions = tf.numpy_function(pack_lengths, [lengths, tf.shape(mask)[-1]], tf.int32, stateful=False)
        shape = (num_rows, seq_length) if num_rows else (None, None)
        return batch | {PACKED_POSITIONS: tf.ensure_shape(positions, shape)}

    return batches.map(add_positions, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
