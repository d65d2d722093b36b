"""Several texts in a row: where each token of a padded batch goes, with fixed shapes.

Letters: B examples of a batch, S their padded length, R rows they are packed into.
"""

import numpy as np
import tensorflow as tf

from kbert.features import PACKED_PLACES


def packed_places(lengths, seq_length: int, num_rows: int) -> np.ndarray:
    """Where the tokens of packed rows come from.

    Texts go, longest first, into the first row that has room ("first fit decreasing": at most 11/9 of the
    fewest rows possible, plus one; D. S. Johnson, "Near-optimal bin packing algorithms", 1973).

    Args:
      lengths: int array `(B,)`, the real tokens of each example, which stand at its beginning.
      seq_length: S.
      num_rows: R.

    Returns:
      int32 array `(R, S)`: for each place of the rows the place b * S + s of its token in the flattened
      batch; B * S where there is none.

    Raises:
      ValueError: when the texts need more rows.
    """
    lengths = np.asarray(lengths)
    places = np.full((num_rows, seq_length), len(lengths) * seq_length, np.int32)
    room = np.full(num_rows, seq_length)
    for example in np.argsort(-lengths, kind="stable"):
        length = lengths[example]
        fitting = np.flatnonzero(room >= length)
        if not len(fitting):
            tokens = int(lengths.sum())
            raise ValueError(
                f"{len(lengths)} texts with {tokens} tokens do not fit into {num_rows} rows of {seq_length}; "
                "raise packed_rows, which may change when a run is taken up again."
            )
        row = fitting[0]
        start = seq_length - room[row]
        places[row, start : start + length] = example * seq_length + np.arange(length)
        room[row] -= length
    return places


def pack(batches: tf.data.Dataset, num_rows: int, num_parts: int = 1) -> tf.data.Dataset:
    """Adds to each batch the feature `packed_places` that an encoder with padding="pack" takes.

    Args:
      batches: dicts that hold an `input_mask` `(B, S)`, both fixed.
      num_rows: rows for the whole batch; `num_parts` divides it.
      num_parts: equal parts that the batch will be cut into, each packed by itself.

    Raises:
      ValueError: for shapes that vary, or rows that do not divide; later, in the pipeline, for texts that do
        not fit.
    """
    batch_size, seq_length = batches.element_spec["input_mask"].shape
    if not batch_size or not seq_length:
        raise ValueError("packing needs batches of one shape: set pad_to_longest=false.")
    if num_rows % num_parts or batch_size % num_parts:
        raise ValueError(
            f"packed_rows={num_rows} and batches of {batch_size} must both divide by the {num_parts} parts "
            "(replicas x gradient_accumulation_steps) that a batch is cut into."
        )

    def places_of_batch(lengths):
        parts = np.split(lengths, num_parts)
        return np.concatenate([packed_places(part, seq_length, num_rows // num_parts) for part in parts])

    def with_places(batch):
        lengths = tf.math.count_nonzero(batch["input_mask"], axis=1, dtype=tf.int32)
        places = tf.numpy_function(places_of_batch, [lengths], tf.int32, stateful=False)
        return batch | {PACKED_PLACES: tf.ensure_shape(places, (num_rows, seq_length))}

    return batches.map(with_places, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
