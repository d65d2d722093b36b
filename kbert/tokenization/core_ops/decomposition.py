"""Text -> its characters decomposed (NFD), with ops of TensorFlow's core.

The tables are those of unicode_tables.json, which tell what TF-Text does. They leave out the accents that
decomposing sets free: BERT drops them anyway.
"""

import functools
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kbert.tokenization.core_ops.code_points import TABLES, CodePointSet, decomposed_characters, numbers
from kbert.tokenization.core_ops.other_rows import change_other_rows

_NO_CHARACTER = 0x110000
_MAX_RANKS = 2**8  # there are fewer than 255 combining classes


class _Tables(NamedTuple):
    """What decomposing needs to know.

    Attributes:
      unchanged: a pattern of the texts that stay as they are.
      unsorted: a pattern of the texts in which no mark is sorted.
      codes: int32 [characters + 1]: those that become others, ascending, and a number above all.
      becomes: int32 [characters + 1, longest]: what, with zeros behind.
      marks: int32 [marks + 1]: those that do not end a run, ascending, and a number above all.
      ranks: int32 [marks + 1]: by what they are sorted.
    """

    unchanged: str
    unsorted: str
    codes: tf.Tensor
    becomes: tf.Tensor
    marks: tf.Tensor
    ranks: tf.Tensor


def decompose(texts: tf.Tensor) -> tf.Tensor:
    """Decomposes characters and puts combining marks into their order.

    The Unicode Standard, 3.11: a run of marks, up to a character of combining class 0, is sorted by classes.

    Args:
      texts: string tensor of shape [batch], UTF-8 without NUL.

    Returns:
      String tensor of shape [batch]. With its accents (`\\p{Mn}`) dropped it is as NFD with them dropped.
    """
    return change_other_rows(texts, _tables().unchanged, _decompose_rows)


def _decompose_rows(texts):
    codes, tables = tf.strings.unicode_decode(texts, "UTF-8"), _tables()
    flat, splits = codes.flat_values, codes.row_splits
    index = tf.searchsorted(tables.codes, flat)
    changes = tf.gather(tables.codes, index) == flat

    def several():
        unchanged = tf.pad(flat[:, tf.newaxis], [[0, 0], [0, tables.becomes.shape[1] - 1]])
        becomes = tf.where(changes[:, tf.newaxis], tf.gather(tables.becomes, index), unchanged)
        ends = tf.cumsum(tf.math.count_nonzero(becomes, axis=1))
        return tf.boolean_mask(becomes, becomes > 0), tf.gather(tf.pad(ends, [[1, 0]]), splits)

    def single():
        return tf.where(changes, tf.gather(tables.becomes[:, 0], index), flat), splits

    has_several = tf.reduce_any(changes & (tf.gather(tables.becomes[:, 1], index) > 0))
    flat, splits = tf.cond(has_several, several, single)
    is_sorted = tf.reduce_all(tf.strings.regex_full_match(texts, tables.unsorted))
    flat = tf.cond(is_sorted, lambda: flat, lambda: _sort_marks(flat, splits))
    return tf.strings.unicode_encode(tf.RaggedTensor.from_row_splits(flat, splits, validate=False), "UTF-8")


def _sort_marks(flat, splits):
    tables = _tables()
    index = tf.searchsorted(tables.marks, flat)
    ranks = tf.where(tf.gather(tables.marks, index) == flat, tf.gather(tables.ranks, index), 0)
    rows = tf.searchsorted(splits, tf.range(splits[-1]), side="right")
    runs = tf.cumsum(tf.cast(ranks == 0, tf.int32)) + rows  # no run goes on in the next text
    keys = tf.cast(runs, tf.int64) * _MAX_RANKS + tf.cast(ranks, tf.int64)
    return tf.gather(flat, tf.argsort(keys, stable=True))


@functools.cache
def _tables() -> _Tables:
    decomposed = decomposed_characters()
    order = {code: 1 + rank for code, (rank,) in numbers(TABLES["mark_order"])}
    accents, fixed = (set(CodePointSet(TABLES[name])) for name in ("accents", "fixed_accents"))
    ranks = dict.fromkeys(accents - fixed, 1)  # they are dropped, so their positions in the run do not matter
    ranks |= order
    sorted_marks = order.keys() | {code for code, codes in decomposed.items() if order.keys() & set(codes)}
    longest = max(map(len, decomposed.values()))
    becomes = [decomposed[code] + (0,) * (longest - len(decomposed[code])) for code in sorted(decomposed)]
    columns = (
        [*sorted(decomposed), _NO_CHARACTER],
        [*becomes, (0,) * longest],
        [*sorted(ranks), _NO_CHARACTER],
        [*(ranks[code] for code in sorted(ranks)), 0],
    )
    with tf.init_scope():
        tensors = [tf.constant(np.array(column, np.int32)) for column in columns]
    return _Tables(
        _pattern_without(decomposed.keys() | sorted_marks), _pattern_without(sorted_marks), *tensors
    )


def _pattern_without(codes):
    """Matches texts that have none of these characters."""
    firsts = [code for code in sorted(codes) if code - 1 not in codes]
    lasts = [code for code in sorted(codes) if code + 1 not in codes]
    ranges = "".join(f"\\x{{{a:X}}}-\\x{{{b:X}}}" for a, b in zip(firsts, lasts, strict=True))
    return f"[^{ranges}]*"
