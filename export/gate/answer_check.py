"""The check that every signature of an export answers as the Keras model does."""

import numpy as np
import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers

from ..serving_model import ServingModel
from .session_check import load_session, run_loaded
from .signature_inputs import inputs_of

# Plain, Unicode, empty and long.
CHECK_TEXTS = ["a short text", "Ein größerer Text, with [MASK] and 漢字.", "", "long " * 600]
# Numbers from here on stand for "none": the score of an answer in a context without any. They are compared by
# their size.
_NO_NUMBER = 1e6


def check_answers(serving_model: ServingModel, directory, tolerance: float, texts=CHECK_TEXTS) -> float:
    """Asks every signature of a SavedModel through the session loader, and of the Keras model.

    Args:
      serving_model: what was written.
      directory: where to.
      tolerance: differences of numbers from Keras up to this are rounding. Rounding grows with the numbers:
        where the largest of an output is above 1, the tolerance is so much larger. Logits of 8 may differ
        eight times as much as probabilities.
      texts: what is asked.

    Returns:
      The largest difference of a number from Keras in float32.

    Raises:
      ValueError: naming the signature, when an answer is not finite, or numbers differ by more than that, or
        truth values at all.
    """
    session, largest = load_session(str(directory)), 0.0
    for name, signature in serving_model.trained_signatures.items():
        inputs = inputs_of(signature, list(texts), serving_model.loaded.text_inputs)
        served = run_loaded(session, name, inputs)
        expected = signature.function(**{key: tf.constant(value) for key, value in inputs.items()})
        expected = {key: value.numpy() for key, value in expected.items()}
        _require_same_shapes(name, served, expected)
        for output, value in expected.items():
            place = f"{output} of the signature {name}"
            largest = max(largest, _compare(place, served[output], value, tolerance, serving_model.source))
    return largest


def _require_same_shapes(signature, served, expected):
    if _shapes(served) != _shapes(expected):
        raise ValueError(
            f"the exported signature {signature} gives {_shapes(served)}, but the Keras model gives "
            f"{_shapes(expected)}. Nothing was exported."
        )


def _shapes(outputs) -> str:
    return ", ".join(f"{name} {list(value.shape)}" for name, value in sorted(outputs.items()))


def _compare(place, served, expected, tolerance, source) -> float:
    """The largest difference of an output; 0 for strings and whole numbers, which numbers decide about."""
    if expected.dtype == bool and (served != expected).any():
        raise ValueError(
            f"the exported model answers differently from the Keras model: {place}. Nothing was exported."
        )
    if expected.dtype.kind != "f" or not expected.size:
        return 0.0
    require_finite_answers(expected, source)
    is_number = np.abs(expected) < _NO_NUMBER
    difference = float((np.abs(served - expected) / np.where(is_number, 1.0, np.abs(expected))).max())
    allowed = tolerance * max(1.0, float(np.abs(expected[is_number]).max(initial=0.0)))
    if not difference <= allowed:  # a difference that is no number is refused too
        raise ValueError(
            f"the exported model answers differently from the Keras model: numbers of {place} differ by up "
            f"to {difference:.2g}, more than {allowed:.2g}. Nothing was exported."
        )
    return difference
