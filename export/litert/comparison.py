"""A LiteRT file beside Keras on the same rows: the task's metrics, the same answers, and how far apart."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from kbert.features import ENCODER_INPUTS
from kbert.inference.finite_numbers import require_finite_answers
from kbert.inference.texts import TEXTS_AT_ONCE, number_at_once
from kbert.runs.metrics_file import json_ready
from kbert.training.evaluation_step import StoredOutputs, evaluate_batches

from .comparison_data import ComparisonData

# Differences up to this are rounding in float32, of numbers up to 1; of larger ones it is that share of the
# largest of their output, as for SavedModels (docs/serving.md).
FLOAT32_TOLERANCE = 1e-5
_QUANTILES = {"median": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
_COSINE_QUANTILES = {"min": 0.0, "p1": 0.01, "p10": 0.1, "median": 0.5}  # the lower, the further apart


class Answered(NamedTuple):
    """What a model said of all rows.

    Args:
      by_ids: output of the signature "ids" -> its rows.
      outputs: the outputs of the model, see `Serving.outputs_from_ids`.
    """

    by_ids: dict[str, np.ndarray]
    outputs: dict[str, np.ndarray]


def keras_answers(task, model, text_inputs, source) -> Callable[[dict], dict]:
    """The Keras model's answers to ids: function from arrays to arrays, float32 outputs alone.

    Raises:
      ValueError: (the function) when an answer is not finite; `source` names the model.
    """
    ask = task.serving.signatures(model, text_inputs)["ids"].as_graph()

    def answer(inputs):
        *_, length = inputs["input_ids"].shape
        scores = length * inputs["input_ids"][0].size  # of all choices
        outputs = [
            ask(*(tf.constant(batch[name], tf.int32) for name in ENCODER_INPUTS))
            for batch in _batches(inputs, min(TEXTS_AT_ONCE, number_at_once(scores)))
        ]
        names = [name for name, value in outputs[0].items() if value.dtype == tf.float32]
        answers = {name: np.concatenate([output[name] for output in outputs]) for name in names}
        for values in answers.values():
            require_finite_answers(values, source)
        return answers

    return answer


def predict_rows(task, answer: Callable[[dict], dict], data: ComparisonData) -> Answered:
    """What `answer` says of all rows; see `Serving.outputs_from_ids`."""
    by_ids: dict[str, np.ndarray] = {}

    def kept(inputs):
        by_ids.update(answer(inputs))
        return by_ids

    return Answered(by_ids, task.serving.outputs_from_ids(kept, data.rows))


def compare(task, answered: Answered, expected: Answered, data: ComparisonData) -> dict:
    """A file's answers beside those of Keras.

    Returns:
      A dict ready for JSON: `num_answers`; `agreement`, the share of answers that `Serving.same_answers`
      calls the same; `max_difference`, over all outputs; `differences`, output -> quantiles over the rows of
      the largest difference in each; `relative_difference`, see `FLOAT32_TOLERANCE`; and of vectors `cosine`,
      the lowest quantiles of `Serving.cosines`.
    """
    same = task.serving.same_answers(answered.outputs, expected.outputs, data.rows)
    cosines = task.serving.cosines(answered.outputs, expected.outputs)
    differences, relative = {}, 0.0
    for name, values in expected.by_ids.items():
        by_row = np.abs(np.asarray(answered.by_ids[name], np.float64) - values).reshape(len(values), -1)
        differences[name] = _quantiles(by_row.max(axis=1), _QUANTILES)
        relative = max(relative, differences[name]["max"] / max(1.0, float(np.abs(values).max())))
    report = {
        "num_answers": int(same.size),
        "agreement": float(same.mean()),
        "max_difference": max(quantiles["max"] for quantiles in differences.values()),
        "relative_difference": relative,
        "differences": differences,
    }
    return report if cosines is None else report | {"cosine": _quantiles(cosines, _COSINE_QUANTILES)}


def compute_metrics(task, answered: Answered, data: ComparisonData) -> dict:
    """The task's metrics of these answers, as `run_evaluation` reports them; nothing without labels.

    A score that is undefined, such as a correlation with a constant, is None.
    """
    if data.examples is None:
        return {}
    step = StoredOutputs(task, _batches(answered.outputs, data.batch_size))
    rows = _batches(data.rows, data.batch_size)
    metrics = evaluate_batches(task, step, rows, data.examples, data.owners)
    return json_ready({name: value for name, value in metrics.items() if isinstance(value, float)})


def _batches(rows: dict, number: int) -> list[dict]:
    """The rows, some at a time: of a whole file a model's own arrays would be too large."""
    starts = range(0, len(next(iter(rows.values()))), number)
    return [{name: value[at : at + number] for name, value in rows.items()} for at in starts]


def _quantiles(values, shares) -> dict[str, float]:
    return {key: float(np.quantile(values, share)) for key, share in shares.items()}
