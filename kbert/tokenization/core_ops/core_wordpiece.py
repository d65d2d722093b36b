"""Words -> WordPiece ids with ops of TensorFlow's core: no state, no tables that need to be initialized."""

import math

import numpy as np
import tensorflow as tf

from kbert.tokenization.core_ops.wordpiece_automaton import (
    BITS_PER_CHARACTER,
    END,
    SEPARATOR,
    START,
    build_automaton,
)

_STEPS_PER_ROUND = 4  # a round of the loop costs as much as several steps of few words


class CoreWordpieceTokenizer:
    """Greedy longest match first, as TF-Text's FastWordpieceTokenizer without its splitting into words.

    Most words are pieces: a hash of the word says which it may be, and a comparison whether it is. All
    different words of a batch that are left are read in step, a character each, by the automaton of
    `build_automaton`: a loop with as many steps as the longest of them has characters and pieces.

    Args:
      tokens: the pieces in id order.
      unknown_token: the piece of words that no pieces make.
    """

    def __init__(self, tokens, unknown_token: str):
        automaton = build_automaton(tokens, tokens.index(unknown_token))
        self._edges = tf.constant(automaton.edges)
        self._failures = tf.constant(automaton.failures)
        self._pops, self._pop_splits = tf.constant(automaton.pops), tf.constant(automaton.pop_splits)
        self._tokens = tf.constant(tokens)
        # Four buckets for each piece. Of pieces with the same bucket the first, mostly the most frequent, has
        # it; the automaton reads the others.
        self._num_buckets = 2 ** math.ceil(math.log2(4 * len(tokens)))
        buckets = np.zeros(self._num_buckets, np.int32)
        starts = [index for index, token in enumerate(tokens) if not token.startswith("##")][::-1]
        buckets[self._hash(tf.gather(self._tokens, starts))] = starts
        self._buckets = tf.constant(buckets)

    def tokenize(self, words: tf.RaggedTensor) -> tf.RaggedTensor:
        """String RaggedTensor of shape [batch, (words)] -> int32 RaggedTensor [batch, (words), (pieces)]."""
        flat = words.flat_values
        likely = tf.gather(self._buckets, self._hash(flat))
        others = tf.where(tf.gather(self._tokens, likely) != flat)  # (words, 1)
        different, index = tf.unique(tf.gather_nd(flat, others))
        pieces, lengths = self._read(different)
        # The pieces of all words, one behind the other, and from where to where those of each word go.
        starts = tf.size(flat) + tf.gather(tf.cumsum(lengths, exclusive=True), index)
        starts = tf.tensor_scatter_nd_update(tf.range(tf.size(flat)), others, starts)
        lengths = tf.tensor_scatter_nd_update(tf.ones_like(starts), others, tf.gather(lengths, index))
        rows = tf.ragged.range(starts, starts + lengths)
        return words.with_flat_values(
            rows.with_values(tf.gather(tf.concat([likely, pieces], axis=0), rows.values))
        )

    def _hash(self, words):
        return tf.strings.to_hash_bucket_fast(words, self._num_buckets)

    def _read(self, words):
        """The pieces of all words, int32 [pieces], and how many each has, int32 [words]."""
        nodes = self._failed_nodes(tf.strings.unicode_decode(words + SEPARATOR, "UTF-8"))
        no_pieces = (tf.gather(self._failures, nodes) == END) & (nodes != END)
        is_unknown = tf.reduce_any(no_pieces, axis=1, keepdims=True)
        nodes = tf.where(is_unknown & ~no_pieces, END, nodes)
        starts, limits = tf.gather(self._pop_splits, nodes), tf.gather(self._pop_splits, nodes + 1)
        chosen = tf.ragged.range(tf.reshape(starts, [-1]), tf.reshape(limits, [-1])).values
        return tf.gather(self._pops, chosen), tf.reduce_sum(limits - starts, axis=1)

    def _failed_nodes(self, codes):
        """The nodes that did not go on, in order: int32 [words, steps]; END, which has no pieces, else."""
        starts = tf.cast(codes.row_splits[tf.newaxis, :-1], tf.int32)
        known = self._edges[tf.newaxis]
        # Each word ends behind its separator; the last needs a character there as well.
        characters = tf.pad(tf.cast(codes.flat_values, tf.int64), [[0, 1]])

        def step(nodes, positions):
            edges = tf.cast(nodes, tf.int64) * 2**BITS_PER_CHARACTER + tf.gather(characters, positions)
            # `tf.searchsorted` would reshape both in each step.
            index = tf.raw_ops.LowerBound(sorted_inputs=known, values=edges, out_type=tf.int32)
            goes_on = tf.gather(self._edges, index) == edges
            following = tf.where(goes_on, index + 2, tf.gather(self._failures, nodes))
            return following, positions + tf.cast(goes_on, tf.int32), tf.where(goes_on, END, nodes)

        def steps(number, nodes, positions, failed):
            columns = []
            for _ in range(_STEPS_PER_ROUND):
                nodes, positions, column = step(nodes, positions)
                columns.append(column)
            return number + 1, nodes, positions, failed.write(number, tf.concat(columns, axis=0))

        failed = tf.TensorArray(tf.int32, 0, dynamic_size=True, element_shape=(_STEPS_PER_ROUND, None))
        *_, failed = tf.while_loop(
            lambda number, nodes, *_: (number == 0) | tf.reduce_any(nodes != END),
            steps,
            (0, tf.fill(tf.shape(starts), START), starts, failed),
        )
        return tf.transpose(failed.concat())
