"""Refuses token ids that a model would answer with garbage, in the graph.

On a CPU `tf.gather` refuses an index beyond a table, on a GPU it gives zeros; and neither sees ids of rows
that a table has beyond its vocabulary, a mask of other numbers than 0 and 1, or a sequence that begins with
padding.
"""

from typing import NamedTuple

from kbert.late_tensorflow import tf


class TokenIdLimits(NamedTuple):
    """What ids a model takes.

    Args:
      tokens: how many the vocabulary has. The embedding table may have more rows.
      positions: the longest sequence.
      segments: how many kinds of segments there are.
    """

    tokens: int
    positions: int
    segments: int

    @classmethod
    def of(cls, config, vocabulary) -> "TokenIdLimits":
        """Those of an `EncoderConfig` and a `Vocabulary`."""
        # A model with fewer than two kinds of segments ignores them.
        return cls(len(vocabulary), config.max_position_embeddings, max(config.type_vocab_size, 2))


def checked_token_ids(inputs: dict, limits: TokenIdLimits) -> dict:
    """The same tensors, which a model can read only when all checks have passed.

    Args:
      inputs: `input_ids`, `input_mask` and `segment_ids`, int32 tensors of shape (..., length).
      limits: what the model takes.

    Returns:
      The three, unchanged.

    Raises:
      tf.errors.InvalidArgumentError: when the graph runs and the shapes differ, a sequence is empty or longer
        than the positions, an id or a segment (at padding too) is beyond the model's, or the mask has other
        numbers than 0 and 1 or a 0 in the first place. A server answers with INVALID_ARGUMENT.
    """
    ids, mask, segments = (inputs[name] for name in ("input_ids", "input_mask", "segment_ids"))
    length = tf.shape(ids)[-1]
    checks = [
        _same_shapes(ids, mask, segments),
        _within(ids, limits.tokens, "input_ids"),
        _within(segments, limits.segments, "segment_ids"),
        _within(mask, 2, "input_mask"),
        assertion(
            tf.logical_and(length >= 1, length <= limits.positions),
            [f"input_ids must have 1 to {limits.positions} positions; received", length],
        ),
        assertion(
            tf.reduce_all(mask[..., :1] > 0),
            ["input_mask must be 1 at the first position of each sequence, which is [CLS]."],
        ),
    ]
    with tf.control_dependencies(checks):
        return {name: tf.identity(value) for name, value in inputs.items()}


def _same_shapes(ids, mask, segments):
    shapes = [tf.shape(tensor) for tensor in (ids, mask, segments)]
    same = tf.logical_and(tf.reduce_all(shapes[0] == shapes[1]), tf.reduce_all(shapes[0] == shapes[2]))
    data: list = ["input_ids, input_mask and segment_ids must have the same shape; received"]
    return assertion(same, data + shapes)


def _within(values, size, name):
    least, most = tf.reduce_min(values), tf.reduce_max(values)
    data = [f"{name} must be numbers from 0 to {size - 1}; received numbers from", least, "to", most]
    return assertion(tf.logical_and(least >= 0, most < size), data)


def assertion(condition, data):
    """The op that fails, with what `data` says, where a condition does not hold."""
    # The op itself: tf.debugging.Assert would put each into a branch of its own.
    return tf.raw_ops.Assert(condition=condition, data=data, summarize=8)
