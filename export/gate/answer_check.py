"""The check that every signature of an export answers as the Keras model does."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kbert.inference.finite_numbers import require_finite_answers

from ..serving_model import ServingModel
from .saved_model_session import DEFAULT_SIGNATURE, SavedModelSession
from .session_check import load_session, run_loaded
from .signature_inputs import inputs_of

# Plain, Unicode, empty and long.
CHECK_TEXTS = ["a short text", "Ein größerer Text, with [MASK] and 漢字.", "", "long " * 600]
# Numbers from here on stand for "none": the score of an answer in a context without any. They are compared by
# their size.
_NO_NUMBER = 1e6
_EXAMPLES_AT_ONCE = 32


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
    tolerance: float,
    texts=CHECK_TEXTS,
    examples=(),
    session: SavedModelSession | None = None,
) -> Differences:
    """Asks every signature of a SavedModel through the session loader, and of the Keras model.

    Args:
      serving_model: what was written.
      directory: where to.
      tolerance: differences of numbers from Keras up to this are rounding. Rounding grows with the numbers:
        where the largest of an output is above 1, the tolerance is so much larger. Logits of 8 may differ
        eight times as much as probabilities.
      texts: what every signature is asked.
      examples: dicts of inputs that serving_default is asked as well.
      session: the directory as `load_session` gives it, where it is loaded already.

    Raises:
      ValueError: naming the signature, when an answer is not finite, or numbers differ by more than that, or
        truth values at all.
    """
    session = session or load_session(str(directory))
    found = [
        _compared(session, serving_model, name, inputs, tolerance)
        for name, inputs in _questions(serving_model, list(texts), examples)
    ]
    apart = np.concatenate([one.apart for one in found])
    mean = float(apart.mean()) if apart.size else 0.0
    agreement, answers = _agreement(found)
    return Differences(float(apart.max(initial=0.0)), mean, agreement, answers)


def _agreement(found) -> tuple[float | None, int]:
    """(share of equal answers, answers) of all questions to serving_default."""
    asked = [one for one in found if one.num_answers]
    answers = sum(one.num_answers for one in asked)
    equal = [one.num_equal for one in asked if one.num_equal is not None]
    return (sum(equal) / answers if len(equal) == len(asked) and answers else None), answers


class _Compared(NamedTuple):
    """The differences of all numbers of a question; of serving_default also how many answers it has, and how
    many of them are equal in all but numbers (None where answers are numbers alone)."""

    apart: np.ndarray
    num_equal: int | None = 0
    num_answers: int = 0


def _questions(serving_model, texts, examples):
    """(signature, inputs) of everything that is asked."""
    text_inputs = serving_model.loaded.text_inputs
    for name, signature in serving_model.trained_signatures.items():
        yield name, inputs_of(signature, texts, text_inputs)
    signature = serving_model.trained_signatures[DEFAULT_SIGNATURE]
    for start in range(0, len(examples), _EXAMPLES_AT_ONCE):
        batch = examples[start : start + _EXAMPLES_AT_ONCE]
        settings = inputs_of(signature, texts, text_inputs)
        columns = {name: np.array([one[name] for one in batch], object) for name in batch[0]}
        yield DEFAULT_SIGNATURE, settings | columns


def _compared(session, serving_model, name, inputs, tolerance) -> _Compared:
    served = run_loaded(session, name, inputs)
    signature = serving_model.trained_signatures[name]
    expected = signature.function(**{key: tf.constant(value) for key, value in inputs.items()})
    expected = {key: value.numpy() for key, value in expected.items()}
    _require_same_shapes(name, served, expected)
    apart = [
        _compare(f"{output} of the signature {name}", served[output], value, tolerance, serving_model.source)
        for output, value in expected.items()
    ]
    apart = np.concatenate(apart)
    if name != DEFAULT_SIGNATURE:
        return _Compared(apart)
    rows = len(next(iter(expected.values())))
    exact = [key for key, value in expected.items() if value.dtype.kind not in "fb"]
    equal = np.ones(rows, bool)
    for key in exact:
        equal &= (served[key] == expected[key]).reshape(rows, -1).all(axis=1)
    return _Compared(apart, int(equal.sum()) if exact else None, rows)


def _require_same_shapes(signature, served, expected):
    if _shapes(served) != _shapes(expected):
        raise ValueError(
            f"the exported signature {signature} gives {_shapes(served)}, but the Keras model gives "
            f"{_shapes(expected)}. Nothing was exported."
        )


def _shapes(outputs) -> str:
    return ", ".join(f"{name} {list(value.shape)}" for name, value in sorted(outputs.items()))


def _compare(place, served, expected, tolerance, source) -> np.ndarray:
    """The differences of an output, flat; none for strings and whole numbers, which numbers decide about."""
    if expected.dtype == bool and (served != expected).any():
        raise ValueError(
            f"the exported model answers differently from the Keras model: {place}. Nothing was exported."
        )
    if expected.dtype.kind != "f" or not expected.size:
        return np.zeros(0)
    require_finite_answers(expected, source)
    is_number = np.abs(expected) < _NO_NUMBER
    apart = np.abs(served - expected) / np.where(is_number, 1.0, np.abs(expected))
    difference = float(apart.max())
    allowed = tolerance * max(1.0, float(np.abs(expected[is_number]).max(initial=0.0)))
    if not difference <= allowed:  # a difference that is no number is refused too
        raise ValueError(
            f"the exported model answers differently from the Keras model: numbers of {place} differ by up "
            f"to {difference:.2g}, more than {allowed:.2g}. Nothing was exported."
        )
    return apart.ravel()
