"""The check that every signature of an export answers as the Keras model does."""

import numpy as np
import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers

from .gate.session_check import load_session, run_loaded
from .serving_model import ServingModel
from .signature_inputs import inputs_of

# Plain, Unicode, empty and long.
CHECK_TEXTS = ["a short text", "Ein größerer Text, with [MASK] and 漢字.", "", "long " * 600]
# Numbers from here on stand for "none": the score of an answer in a context without any. They are compared by
# their size.
_NO_NUMBER = 1e6


def check_answers(
    serving_model: ServingModel, directory, tolerance: float, grows: bool = False, texts=CHECK_TEXTS
) -> float:
    """Asks every signature of a SavedModel through the session loader, and of the Keras model.

    Args:
      serving_model: what was written.
      directory: where to.
      tolerance: differences of numbers from Keras up to this are rounding.
      grows: whether it grows with the largest number of a signature's outputs, once that is above 1.
      texts: what is asked.

    Returns:
      The largest difference of a number from Keras in float32.

    Raises:
      ValueError: naming the signature, when an answer is not finite, or numbers differ by more than the
        tolerance, or truth values at all.
    """
    session, largest = load_session(str(directory)), 0.0
    for name, signature in serving_model.trained_signatures.items():
        inputs = inputs_of(signature, list(texts), serving_model.loaded.text_inputs)
        served = run_loaded(session, name, inputs)
        expected = signature.function(**{key: tf.constant(value) for key, value in inputs.items()})
        expected = {key: value.numpy() for key, value in expected.items()}
        largest = max(largest, _compare(name, served, expected, serving_model.source, tolerance, grows))
    return largest


def _compare(signature, served, expected, source, tolerance, grows) -> float:
    if served.keys() != expected.keys() or any(served[k].shape != v.shape for k, v in expected.items()):
        raise ValueError(
            f"the exported signature {signature} gives {_shapes(served)}, but the Keras model gives "
            f"{_shapes(expected)}. Nothing was exported."
        )
    differences, sizes = [0.0], [1.0]
    for name, value in expected.items():
        if value.dtype == bool and (served[name] != value).any():
            raise ValueError(
                f"the exported model answers differently from the Keras model: {name} of the signature "
                f"{signature}. Nothing was exported."
            )
        if value.dtype.kind == "f":
            require_finite_answers(value, source)
            is_number = np.abs(value) < _NO_NUMBER
            apart = np.abs(served[name] - value) / np.where(is_number, 1.0, np.abs(value))
            differences.append(float(apart.max(initial=0.0)))
            sizes.append(float(np.abs(value[is_number]).max(initial=0.0)))
    tolerance *= max(sizes) if grows else 1.0
    if max(differences) > tolerance or np.isnan(differences).any():
        raise ValueError(
            f"the exported model answers differently from the Keras model: numbers of the signature "
            f"{signature} differ by up to {max(differences):.2g}, more than {tolerance:.2g}. "
            "Nothing was exported."
        )
    return max(differences)


def _shapes(outputs) -> str:
    return ", ".join(f"{name} {list(value.shape)}" for name, value in sorted(outputs.items()))
