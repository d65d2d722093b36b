"""The check that every signature of an export answers as the Keras model does."""

import numpy as np
import tensorflow as tf
from absl import logging

from kbert.inference.answers import example_batches
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.texts import TEXTS_AT_ONCE

from ..serving_model import ServingModel
from .saved_model_session import DEFAULT_SIGNATURE, SavedModelSession
from .signature_inputs import make_inputs

# Plain, Unicode and empty; then a long one beside one short one alone, as Keras computes the padding of all.
# [MASK] stands for the mask token of the model.
CHECK_TEXTS = [
    ["a short text", "Ein größerer Text, with [MASK] and 漢字.", ""],
    ["a [MASK] text", "long " * 600],
]
# Numbers from here on stand for "none": the score of an answer in a context without any. They are compared by
# their size.
_NO_NUMBER = 1e6


def check_answers(
    serving_model: ServingModel, session: SavedModelSession, tolerance: float, examples=()
) -> dict:
    """Asks every signature of a SavedModel through the session loader, and of the Keras model in float32.

    Args:
      serving_model: what was written.
      session: the SavedModel, as the server loads it.
      tolerance: differences of numbers from Keras up to this are rounding. Rounding grows with the numbers:
        where the largest of an output is above 1, the tolerance is so much larger. Logits of 8 may differ
        eight times as much as probabilities.
      examples: dicts of inputs that serving_default is asked beside CHECK_TEXTS.

    Returns:
      dict: max_difference and mean_difference of all numbers; answers_agree, the share of the answers of
        serving_default whose texts and whole numbers, such as the label, are all equal, None where it gives
        none; answers_compared, how many these are.

    Raises:
      ValueError: naming the signature, when an answer is not finite, or numbers differ by more than that, or
        truth values at all.
    """
    differences, equal, num_answers = [], [], 0
    serving, vocab_size = serving_model.task.serving, serving_model.loaded.config.vocab_size
    for name, inputs in _questions(serving_model, examples):
        served = session.run(name, inputs)
        signature = serving_model.trained_signatures[name]
        outputs = signature.function(**{key: tf.constant(value) for key, value in inputs.items()})
        expected = {key: value.numpy() for key, value in outputs.items()}
        _require_same_shapes(name, served, expected)
        if name == DEFAULT_SIGNATURE and (warning := serving.incomplete(served)):
            logging.warning("%s", warning)
        served, expected = (serving.compared(outputs, vocab_size) for outputs in (served, expected))
        for output, value in expected.items():
            where = f"{output} of the signature {name}"
            differences.append(_compare(where, served[output], value, tolerance, serving_model.source))
        if name == DEFAULT_SIGNATURE:
            num_answers += len(next(iter(expected.values())))
            exact = [key for key, value in expected.items() if value.dtype.kind not in "fb"]
            rows = zip(*(served[key] == expected[key] for key in exact), strict=True)
            equal += [all(map(np.all, row)) for row in rows]
    numbers = np.concatenate(differences)
    return {
        "max_difference": float(numbers.max(initial=0.0)),
        "mean_difference": float(numbers.mean()) if numbers.size else 0.0,
        "answers_agree": sum(equal) / num_answers if equal else None,
        "answers_compared": num_answers,
    }


def _questions(serving_model, examples):
    """(signature, inputs) of everything that is asked."""
    text_inputs = serving_model.loaded.text_inputs
    mask = text_inputs.vocabulary.special_tokens.mask
    batches = [[text.replace("[MASK]", mask) for text in texts] for texts in CHECK_TEXTS]
    for name, signature in serving_model.trained_signatures.items():
        for texts in batches:
            yield name, make_inputs(signature, texts, text_inputs)
    settings = make_inputs(serving_model.trained_signatures[DEFAULT_SIGNATURE], batches[0], text_inputs)
    signatures, in_windows = [DEFAULT_SIGNATURE] * len(examples), serving_model.task.serving.in_windows
    longest = serving_model.task.row_length(text_inputs.max_seq_length)
    for positions in example_batches(signatures, examples, TEXTS_AT_ONCE, longest, in_windows):
        batch = [examples[position] for position in positions]
        columns = {name: np.array([example[name] for example in batch], object) for name in batch[0]}
        yield DEFAULT_SIGNATURE, settings | columns


def _require_same_shapes(signature, served, expected):
    if _shapes(served) != _shapes(expected):
        raise ValueError(
            f"the exported signature {signature} gives {_shapes(served)}, but the Keras model gives "
            f"{_shapes(expected)}. Nothing was exported."
        )


def _shapes(outputs) -> str:
    return ", ".join(f"{name} {list(value.shape)}" for name, value in sorted(outputs.items()))


def _compare(where, served, expected, tolerance, source) -> np.ndarray:
    """The differences of an output, flat; none for strings and whole numbers, which numbers decide about."""
    if expected.dtype == bool and (served != expected).any():
        raise ValueError(f"the exported model and the Keras model differ: {where}. Nothing was exported.")
    if expected.dtype.kind != "f" or not expected.size:
        return np.zeros(0)
    require_finite_answers(expected, source)
    is_number = np.abs(expected) < _NO_NUMBER
    differences = np.abs(served - expected) / np.where(is_number, 1.0, np.abs(expected))
    largest = float(differences.max())
    allowed = tolerance * max(1.0, float(np.abs(expected[is_number]).max(initial=0.0)))
    if not largest <= allowed:  # a difference that is no number is refused too
        raise ValueError(
            f"the exported model and the Keras model differ: numbers of {where} differ by up to "
            f"{largest:.2g}, more than {allowed:.2g}. Nothing was exported."
        )
    return differences.ravel()
