"""A LiteRT file beside Keras on the same rows: the task's metrics, the same answers, and how far apart."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kbert.features import ENCODER_INPUTS
from kbert.inference.finite_numbers import require_finite_answers

from .comparison_data import ComparisonData

# Differences up to this are rounding in float32, of numbers up to 1; of larger ones it is that share of the
# largest of their output, as for SavedModels (docs/serving.md).
FLOAT32_TOLERANCE = 1e-5
_QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
_COSINE_QUANTILES = {"min": 0.0, "p1": 0.01, "p10": 0.1, "median": 0.5}  # the lower, the further apart


class Answered(NamedTuple):
    """What a model said of all rows.

    Args:
      by_ids: output of the signature "ids" -> its rows, one array for each call, in order.
      outputs: for each batch the outputs of the model, see `Task.outputs_of_ids`.
    """

    by_ids: dict[str, list[np.ndarray]]
    outputs: list[dict]


def keras_answers(task, model, text_inputs, source) -> Callable[[dict], dict]:
    """The Keras model's answers to ids: function from arrays to arrays, float32 outputs alone.

    Raises:
      ValueError: (the function) when an answer is not finite; `source` names the model.
    """
    import tensorflow as tf

    ask = task.signatures(model, text_inputs)["ids"].as_graph()

    def answer(inputs):
        outputs = ask(*(tf.constant(inputs[name], tf.int32) for name in ENCODER_INPUTS))
        found = {name: value.numpy() for name, value in outputs.items() if value.dtype == tf.float32}
        for values in found.values():
            require_finite_answers(values, source)
        return found

    return answer


def answers_to(task, answer: Callable[[dict], dict], data: ComparisonData) -> Answered:
    """What `answer` says of all rows; see `Task.outputs_of_ids`."""
    by_ids: dict[str, list[np.ndarray]] = {}

    def kept(inputs):
        found = answer(inputs)
        for name, values in found.items():
            by_ids.setdefault(name, []).append(values)
        return found

    return Answered(by_ids, [task.outputs_of_ids(kept, batch) for batch in data.batches])


def compare(task, answered: Answered, expected: Answered, data: ComparisonData) -> dict:
    """A file's answers beside those of Keras.

    Returns:
      A dict ready for JSON: `num_answers`; `agreement`, the share of answers that `Task.same_answers` calls
      the same; `max_difference`, over all outputs; `differences`, output -> quantiles over the rows of the
      largest difference in each; `relative_difference`, see `FLOAT32_TOLERANCE`; and of vectors `cosine`,
      the lowest quantiles of `Task.cosines`.
    """
    asked = zip(answered.outputs, expected.outputs, data.batches, strict=True)
    same = np.concatenate([task.same_answers(*pair, batch) for *pair, batch in asked])
    apart, relative = {}, 0.0
    for name, values in expected.by_ids.items():
        by_row = _by_row(answered.by_ids[name], values)
        apart[name] = {key: float(np.quantile(by_row, share)) for key, share in _QUANTILES.items()}
        largest = max(1.0, *(float(np.abs(part).max()) for part in values))
        relative = max(relative, apart[name]["max"] / largest)
    return {
        "num_answers": int(same.size),
        "agreement": float(same.mean()),
        "max_difference": max(one["max"] for one in apart.values()),
        "relative_difference": relative,
        "differences": apart,
    } | _cosines(task, answered, expected)


def _cosines(task, answered, expected) -> dict:
    """`cosine`, the quantiles over all vectors; nothing where the answers are no vectors."""
    pairs = zip(answered.outputs, expected.outputs, strict=True)
    found = [cosines for pair in pairs if (cosines := task.cosines(*pair)) is not None]
    if not found:
        return {}
    every = np.concatenate(found)
    return {"cosine": {key: float(np.quantile(every, share)) for key, share in _COSINE_QUANTILES.items()}}


def metrics_of(task, answered: Answered, data: ComparisonData) -> dict:
    """The task's metrics of these answers, as `run_evaluation` reports them; nothing without labels.

    A score that is undefined, such as a correlation with a constant, is None.
    """
    if not data.labelled:
        return {}
    from kbert.runs.metrics_file import json_ready
    from kbert.training.evaluation_step import GivenOutputs, evaluate_batches

    step = GivenOutputs(task, answered.outputs)
    found = evaluate_batches(task, step, data.batches, data.examples, data.owners)
    return json_ready({name: value for name, value in found.items() if isinstance(value, float)})


def _by_row(answered, expected) -> np.ndarray:
    """float64 (rows,): the largest difference of each row."""
    rows = [
        np.abs(np.asarray(one, np.float64) - other).reshape(len(one), -1).max(axis=1)
        for one, other in zip(answered, expected, strict=True)
    ]
    return np.concatenate(rows)
