"""Packs several texts into a row: computes where each token of a padded batch goes.

Letters: B examples of a batch, S their padded length, R rows of L positions that they are packed into. Where
an example has several texts, each stands for itself: then B counts texts.
"""

import numpy as np
import tensorflow as tf

from kbert.features import PACKED_PLACES

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


def packed_places(lengths, seq_length: int, rows, row_length: int, num_rows: int) -> np.ndarray:
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
    places = np.full((num_rows, row_length), len(lengths) * seq_length, np.int32)
    for row, examples in enumerate(rows):
        tokens = [example * seq_length + np.arange(lengths[example]) for example in examples]
        joined = np.concatenate([np.zeros(0, np.int32), *tokens])
        places[row, : len(joined)] = joined
    return places


def fixed_rows(lengths, seq_length: int, num_rows: int) -> np.ndarray:
    """`packed_places` of texts in exactly `num_rows` rows of length `seq_length`.

    Raises:
      ValueError: when the texts need more rows.
    """
    rows = first_fit(lengths, seq_length)
    if len(rows) > num_rows:
        raise ValueError(
            f"{len(lengths)} texts with {int(lengths.sum())} tokens do not fit into {num_rows} rows of "
            f"{seq_length}; raise packed_rows, which you may change when you resume a run."
        )
    return packed_places(lengths, seq_length, rows, seq_length, num_rows)


def needed_rows(parts, seq_length: int) -> list[np.ndarray]:
    """`packed_places` of each part of a batch. All parts get the same number of rows and the same row length.

    The number of rows is what the fullest part needs. Rows are as long as the longest text, rounded up to a
    multiple of 64, or twice as long if this saves at least an eighth of the positions (texts a little longer
    than half a row leave the other half empty). From 32 rows on, their number is rounded up, by a sixteenth
    at most, because every new shape costs compilation time.
    """
    longest = max(int(part.max(initial=1)) for part in parts)
    length = -(-longest // _ROW_STEP) * _ROW_STEP
    packings = [(length, [first_fit(part, length) for part in parts])]
    if length <= _LONGEST_WIDENED:
        packings.append((2 * length, [first_fit(part, 2 * length) for part in parts]))

    def num_places(packing):
        length, rows_of_parts = packing
        return length * max(map(len, rows_of_parts))

    if num_places(packings[-1]) > (1 - _WORTHWHILE) * num_places(packings[0]):
        packings = packings[:1]
    length, rows_of_parts = packings[-1]
    num_rows = max(map(len, rows_of_parts))
    step = 2 ** max(0, num_rows.bit_length() - 5)
    num_rows = -(-num_rows // step) * step
    return [
        packed_places(part, seq_length, rows, length, num_rows)
        for part, rows in zip(parts, rows_of_parts, strict=True)
    ]


def pack(batches: tf.data.Dataset, num_rows: int | None = None, num_parts: int = 1) -> tf.data.Dataset:
    """Adds to each batch the feature `packed_places`, which a packed encoder needs.

    Args:
      batches: dicts with an `input_mask` `(B, S)`, or `(B, T, S)` with T texts an example, each of which is
        placed by itself; all sizes must be fixed if `num_rows` is given.
      num_rows: for fixed shapes: the number of rows for the whole batch, each of length S; it must be
        divisible by `num_parts`. By default number and length are what each batch needs, see `needed_rows`.
      num_parts: the number of equal parts that the batch will be cut into; each part is packed separately.

    Raises:
      ValueError: when `num_rows` is given and shapes vary, or when `num_rows` or the batch size is not
        divisible by `num_parts`; later, in the pipeline, when texts do not fit.
    """
    sizes = batches.element_spec["input_mask"].shape
    batch_size, seq_length = sizes[0], sizes[-1]
    if num_rows and None in sizes:
        raise ValueError("packed_rows needs batches of one shape: set pad_to_longest=false.")
    if (num_rows or 0) % num_parts or (batch_size or 0) % num_parts:
        raise ValueError(
            f"packed_rows={num_rows} and the batch size {batch_size} must both be divisible by the "
            f"{num_parts} parts (replicas x gradient_accumulation_steps) that a batch is cut into."
        )

    def places_of_batch(lengths, seq_length):
        parts = np.split(lengths, num_parts)
        if not num_rows:
            return np.concatenate(needed_rows(parts, int(seq_length)))
        return np.concatenate([fixed_rows(part, int(seq_length), num_rows // num_parts) for part in parts])

    def with_places(batch):
        mask = batch["input_mask"]
        lengths = tf.reshape(tf.math.count_nonzero(mask, axis=-1, dtype=tf.int32), [-1])
        places = tf.numpy_function(places_of_batch, [lengths, tf.shape(mask)[-1]], tf.int32, stateful=False)
        shape = (num_rows, seq_length) if num_rows else (None, None)
        return batch | {PACKED_PLACES: tf.ensure_shape(places, shape)}

    return batches.map(with_places, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
