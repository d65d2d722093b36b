"""The check that every signature of an export answers as the Keras model does."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers

from .gate.saved_model_session import DEFAULT_SIGNATURE, SavedModelSession
from .gate.session_check import load_session, run_loaded
from .serving_model import ServingModel
from .signature_inputs import inputs_of

# Plain, Unicode, empty and long.
CHECK_TEXTS = ["a short text", "Ein größerer Text, with [MASK] and 漢字.", "", "long " * 600]
# Numbers from here on stand for "none": the score of an answer in a context without any. They are compared by
# their size.
_NO_NUMBER = 1e6
_EXAMPLES_AT_ONCE = 32


class Tolerance(NamedTuple):
    """Differences of numbers from Keras up to `most` are rounding.

    With `grows`, this is a share of the largest number of a signature's outputs, once that is above 1.
    """

    most: float
    grows: bool = False


class Differences(NamedTuple):
    """How far a served model is from the Keras model in float32.

    Args:
      largest, mean: of all numbers that were compared.
      agreement: the share of the answers of serving_default whose texts and whole numbers, such as the label,
        are all equal; None where it gives none.
      num_answers: how many answers of serving_default were compared.
    """

    largest: float
    mean: float
    agreement: float | None
    num_answers: int


def check_answers(
    serving_model: ServingModel,
    directory,
    tolerance: Tolerance,
    examples=(),
    texts=CHECK_TEXTS,
    session: SavedModelSession | None = None,
) -> Differences:
    """Asks every signature of a SavedModel through the session loader, and of the Keras model.

    Args:
      serving_model: what was written.
      directory: where to.
      tolerance: what passes as rounding.
      examples: dicts of inputs that serving_default is asked as well.
      texts: what every signature is asked.
      session: the directory as `load_session` gives it, where it is loaded already.

    Raises:
      ValueError: naming the signature, when an answer is not finite, or numbers differ by more than the
        tolerance, or truth values at all.
    """
    session = session or load_session(str(directory))
    found = [
        _compared(session, serving_model, name, inputs, tolerance)
        for name, inputs in _questions(serving_model, list(texts), examples)
    ]
    apart = np.concatenate([one for one, _, _ in found])
    asked = [(equal, rows) for _, equal, rows in found if rows]
    rows = sum(rows for _, rows in asked)
    has_labels = all(equal is not None for equal, _ in asked)
    agreement = sum(equal for equal, _ in asked) / rows if rows and has_labels else None
    mean = float(apart.mean()) if apart.size else 0.0
    return Differences(float(apart.max(initial=0.0)), mean, agreement, rows)


def _questions(serving_model, texts, examples):
    """(signature, inputs) of everything that is asked."""
    text_inputs = serving_model.loaded.text_inputs
    for name, signature in serving_model.trained_signatures.items():
        yield name, inputs_of(signature, texts, text_inputs)
    signature = serving_model.trained_signatures[DEFAULT_SIGNATURE]
    for start in range(0, len(examples), _EXAMPLES_AT_ONCE):
        batch = examples[start : start + _EXAMPLES_AT_ONCE]
        settings = inputs_of(signature, texts, text_inputs)
        yield (
            DEFAULT_SIGNATURE,
            settings | {name: np.array([one[name] for one in batch], object) for name in batch[0]},
        )


def _compared(session, serving_model, name, inputs, tolerance):
    """(differences of all numbers, equal answers, answers) of a question; the last two are 0 but for those of
    serving_default, and the equal ones None where answers are numbers alone."""
    served = run_loaded(session, name, inputs)
    expected = serving_model.trained_signatures[name].function(
        **{key: tf.constant(value) for key, value in inputs.items()}
    )
    expected = {key: value.numpy() for key, value in expected.items()}
    apart = _compare(name, served, expected, serving_model.source, tolerance)
    if name != DEFAULT_SIGNATURE:
        return apart, 0, 0
    rows = len(next(iter(expected.values())))
    exact = [key for key, value in expected.items() if value.dtype.kind not in "fb"]
    equal = np.ones(rows, bool)
    for key in exact:
        equal &= (served[key] == expected[key]).reshape(rows, -1).all(axis=1)
    return apart, int(equal.sum()) if exact else None, rows


def _compare(signature, served, expected, source, tolerance) -> np.ndarray:
    """The differences of all numbers."""
    if served.keys() != expected.keys() or any(served[k].shape != v.shape for k, v in expected.items()):
        raise ValueError(
            f"the exported signature {signature} gives {_shapes(served)}, the Keras model "
            f"{_shapes(expected)}. Nothing was exported."
        )
    differences, sizes = [np.zeros(0)], [1.0]
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
            differences.append(apart.ravel())
            sizes.append(float(np.abs(value[is_number]).max(initial=0.0)))
    apart = np.concatenate(differences)
    most = tolerance.most * (max(sizes) if tolerance.grows else 1.0)
    if not apart.max(initial=0.0) <= most:
        raise ValueError(
            f"the exported model answers differently from the Keras model: numbers of the signature "
            f"{signature} differ by up to {apart.max():.2g}, more than {most:.2g}. Nothing was exported."
        )
    return apart


def _shapes(outputs) -> str:
    return ", ".join(f"{name} {list(value.shape)}" for name, value in sorted(outputs.items()))
