"""No number that is not finite leaves a model as an answer: it would be no JSON, and no answer."""

import numpy as np
from keras import ops


def load_run_model(run, which: str | int | None = None):
    """Task and model of a run as `RunDirectory.load_model` gives them, of finite weights.

    Raises:
      ValueError: as that raises, and when a weight is not finite.
    """
    task, model = run.load_model(which)
    require_finite_weights(model, run.checkpoint(which))
    return task, model


def require_finite_weights(model, source):
    """Raises ValueError when a weight of a Keras model, loaded from `source`, is NaN or infinite."""
    for variable in model.trainable_variables:
        if not bool(ops.all(ops.isfinite(variable.value))):
            raise ValueError(
                f"{source}: {variable.path} holds numbers that are not finite (NaN or infinite), so its "
                "answers would be none; take another checkpoint."
            )


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
