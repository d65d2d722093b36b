"""The merges of byte-level BPE, as tables and as a loop over all words of a batch at once. Core ops only.

BPE merges the pair of lowest rank in a word, the leftmost of equal ones, until none is left. Most merges do
not depend on each other, so a step here makes many:

- A pair is certain if nothing can come between its two symbols: no pair that either of them could ever form
  with what stands beside it, or with a longer token made of that, has a lower rank.
- Neighbours are strangers if neither can ever be merged with the other, or with a token made of it. What
  stands between two strangers is a stretch. The pair of lowest rank in a stretch comes first there, and so do
  all pairs of this rank, from left to right.

Both need that a merge brings up no lower rank than its own. A late merge may: its token is part of a merge
with a lower rank, because it can be made in two ways (four spaces of 2 + 2 or of 1 + 3). A late merge waits
until it is the next of its whole word.
"""

from collections.abc import Iterable

import numpy as np
import tensorflow as tf

_NEVER = np.iinfo(np.int32).max  # the rank of a pair that is not merged
_LEFT = 2**32  # the key of a pair is left * _LEFT + right


class PairMerger:
    """Merges the symbols of words.

    Args:
      merges: the ids of (left, right, whole) of each merge, the first merge first. Of equal pairs the last
        counts, as in GPT-2's encoder.py.
      separator: symbols from this number on stand between words and are never merged.

    Call arguments:
      symbols: int32 tensor of shape [symbols], at least two.

    Returns:
      int32 tensor of shape [merged symbols].
    """

    def __init__(self, merges: Iterable[tuple[int, int, int]], separator: int):
        pairs = {(left, right): (rank, whole) for rank, (left, right, whole) in enumerate(merges)}
        table = np.array([[*pair, *pairs[pair]] for pair in pairs], np.int64).reshape(-1, 4)
        keys, columns = _tables(*table[np.argsort(table[:, 2])].T)
        with tf.init_scope():  # constants of the program, not of the graph that happens to be built
            self._keys, self._columns = tf.constant(keys[np.newaxis]), tf.constant(columns)
        self._has_late_merges = (columns[:, 0] != columns[:, 1]).any()
        self._separator = separator

    def __call__(self, symbols: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda _, goes_on: goes_on,
            lambda symbols, _: self._step(symbols),
            (symbols, True),
            (tf.TensorShape([None]), tf.TensorShape([])),
        )[0]

    def _step(self, symbols):
        """(the symbols after some merges, whether there were any)."""
        ranks, early_ranks, before, after, wholes = self._look_up(symbols)
        are_strangers = tf.equal(tf.minimum(before, after), _NEVER)
        lowest = _lowest(ranks, are_strangers)
        is_certain = tf.logical_and(
            early_ranks < tf.concat([[_NEVER], before[:-1]], axis=0),
            early_ranks <= tf.concat([after[1:], [_NEVER]], axis=0),
        )
        chosen = tf.logical_or(is_certain, tf.equal(early_ranks, lowest))
        chosen = tf.logical_and(chosen, _every_second_of_equals(ranks))
        if self._has_late_merges:
            chosen = tf.logical_or(chosen, _is_next(ranks, symbols[:-1] >= self._separator))
        chosen = tf.pad(tf.logical_and(chosen, ranks < _NEVER), [[1, 1]])
        merged = tf.where(chosen[1:], tf.pad(wholes, [[0, 1]]), symbols)  # the left symbol becomes the whole
        kept = tf.where(tf.logical_not(chosen[:-1]))[:, 0]
        return tf.gather(merged, kept), tf.reduce_any(chosen)

    def _look_up(self, symbols):
        """The columns of `_tables` for each pair of neighbours, int32 of shape [symbols - 1]."""
        numbers = tf.cast(symbols, tf.int64)
        keys = numbers[:-1] * _LEFT + numbers[1:]
        # The op of `tf.searchsorted`, without its six others for tensors of any shape.
        rows = tf.raw_ops.LowerBound(sorted_inputs=self._keys, values=keys[tf.newaxis])[0]
        is_known = tf.equal(tf.gather(self._keys[0], rows), keys)
        rows = tf.where(is_known, rows, self._columns.shape[0] - 1)
        return tf.unstack(tf.gather(self._columns, rows), axis=1)


def _lowest(numbers, is_first):
    """The lowest number between two of `is_first`, for each number: of the shape of both."""
    stretches = tf.cumsum(tf.cast(is_first, tf.int32))
    return tf.gather(tf.math.segment_min(numbers, stretches), stretches)


def _is_next(ranks, is_separator):
    """Whether the pair is the leftmost of those with the lowest rank of their word."""
    # As one number of 64 bits: the rank, and below it the position.
    ordered = tf.bitcast(tf.stack([tf.range(tf.size(ranks)), ranks], axis=1), tf.int64)
    return tf.equal(ordered, _lowest(ordered, is_separator))


def _every_second_of_equals(ranks):
    """Which pairs are the first, third ... of neighbours with one rank: "aaaa" has (a, a) three times."""
    is_first = tf.concat([[True], tf.not_equal(ranks[1:], ranks[:-1])], axis=0)
    firsts = tf.cast(tf.where(is_first)[:, 0], tf.int32)
    starts = tf.gather(firsts, tf.cumsum(tf.cast(is_first, tf.int32)) - 1)
    return tf.equal((tf.range(tf.size(ranks)) - starts) % 2, 0)


def _tables(lefts, rights, ranks, wholes):
    """What merges say of a pair of neighbours.

    Args:
      lefts, rights, ranks, wholes: int64 arrays of shape [merges].

    Returns:
      keys: int64 [pairs + 1], sorted; the last row stands for all other pairs.
      columns: int32 [pairs + 1, 5]: the rank of the pair; the same unless its merge is late; the lowest rank
        that the right symbol can have with a token that ends in the left one; that of the left symbol with a
        token that begins with the right one; what the pair becomes.
    """
    ends, ended = _with_edges(lefts, wholes, rights)
    starts, started = _with_edges(rights, wholes, lefts)
    keys = (lefts * _LEFT + rights, ends * _LEFT + rights[ended], lefts[started] * _LEFT + starts)
    different, rows = np.unique(np.concatenate(keys), return_inverse=True)
    own, before, after = np.split(rows, np.cumsum([len(part) for part in keys[:2]]))

    columns = np.full([len(different) + 1, 5], _NEVER, np.int32)
    columns[own, 0] = ranks
    columns[own, 1] = np.where(_is_late(lefts, rights, ranks, wholes), _NEVER, ranks)
    np.minimum.at(columns[:, 2], before, ranks[ended])
    np.minimum.at(columns[:, 3], after, ranks[started])
    columns[own, 4] = wholes
    return np.append(different, np.iinfo(np.int64).max), columns


def _with_edges(tokens, wholes, parts):
    """Tokens and all that stand at one edge of them, down to single bytes.

    Args:
      tokens: int64 [rows].
      wholes, parts: int64 [merges]: a token, and what it is made of at that edge.

    Returns:
      (tokens, the row of each).
    """
    order = np.argsort(wholes, kind="stable")
    level = np.stack([tokens, np.arange(len(tokens))])
    levels = [level]
    while level.size:
        firsts = np.searchsorted(wholes, level[0], "left", order)
        counts = np.searchsorted(wholes, level[0], "right", order) - firsts
        rows = np.repeat(level[1], counts)
        numbers = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        made = parts[order[np.repeat(firsts, counts) + numbers]]
        level = np.unique(np.stack([made, rows]), axis=1)  # a token may be made in several ways
        levels.append(level)
    return np.concatenate(levels, axis=1)


def _is_late(lefts, rights, ranks, wholes):
    """Whether the token of a merge is part of one with a lower rank: bool [merges]."""
    first_uses = np.full(max(part.max(initial=0) for part in (lefts, rights, wholes)) + 1, _NEVER)
    for part in (lefts, rights):
        np.minimum.at(first_uses, part, ranks)
    return first_uses[wholes] < ranks
