"""No number that is not finite leaves a model as an answer: it would be no JSON, and no answer."""

import numpy as np


def require_finite_answers(values, source, places=None):
    """Raises ValueError when the numbers of an answer are not finite.

    Args:
      values: an array or a sequence of arrays, one for each text.
      source: where the model comes from.
      places: where the texts stand among those given; by default one after the other.

    Raises:
      ValueError: naming source and text.
    """
    for place, row in enumerate(values):
        if not np.isfinite(row).all():
            raise ValueError(
                f"{source} gives numbers that are not finite (NaN or infinite) for "
                f"texts[{place if places is None else places[place]}]: its "
                "weights are damaged or far too large; take another checkpoint."
            )
