"""Checks that the numbers of an answer are finite: NaN and infinity are not valid JSON and mean nothing."""

import numpy as np


def require_finite_answers(values, source, positions=None, name="texts[{}]"):
    """Raises ValueError when the numbers of an answer are not finite.

    Args:
      values: an array or a sequence of arrays, one for each text.
      source: the name of the model for the message, for example its folder.
      positions: the index of each text in the caller's list; by default 0, 1, 2 and so on.
      name: what the message calls a text, with {} for its index.

    Raises:
      ValueError: when a number is not finite; the message names the source and the text.
    """
    for position, row in enumerate(values):
        if not np.isfinite(row).all():
            text = name.format(position if positions is None else positions[position])
            raise ValueError(
                f"{source} gives numbers that are not finite (NaN or infinite) for {text}: its weights are "
                "damaged or far too large; take another checkpoint."
            )
