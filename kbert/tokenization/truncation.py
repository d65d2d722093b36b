"""What is kept of two texts that do not fit together. Standard library only."""


def truncated_lengths(first, second, room, minimum, maximum):
    """Lengths of two texts after popping from the longer (on a tie, from the second) until they fit.

    `_truncate_seq_pair` of the original's run_classifier.py, in closed form.

    Args:
      first, second: the lengths before: integers, arrays or tensors of shape [batch].
      room: how many tokens both may take together.
      minimum, maximum: of two such lengths, such as `tf.minimum` and `tf.maximum` for tensors.

    Returns:
      Two lengths of the same dtype and shape.
    """
    half = (room + 1) // 2  # the odd position goes to the first text
    kept_first = minimum(first, maximum(half, room - second))
    return kept_first, minimum(second, room - kept_first)
