"""The rows of a comparison as another tokenizer reads their texts: which are others, and what that does."""

import collections
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from absl import logging

from kbert.features import ENCODER_INPUTS

from ..comparison import Answered, answers_to, compare, metrics_of
from ..comparison_data import ComparisonData
from .reasons import reasons_of

MOST_LISTED = 200  # texts in a report
_SHOWN = 200  # characters of each


class OtherReading(NamedTuple):
    """A reading of all rows.

    Args:
      data: the rows with the ids of the other tokenizer.
      changed: bool (texts,): whose ids are others than BERT's rules give.
      report: `num_texts`, `read_alike`; `reasons`, how many of the others have each; and
        `read_otherwise`: for each of the first MOST_LISTED of these its place among all, the text, its
        `reasons`, and the first piece that is another, `expected` and `read`.
    """

    data: ComparisonData
    changed: np.ndarray
    report: dict

    def first_rows(self, number: int) -> dict[str, np.ndarray]:
        """The other tokenizer's ids of the first texts."""
        return {name: _flat(self.data.rows[name])[:number] for name in ENCODER_INPUTS}


def rows_of_texts(task, data: ComparisonData) -> list[tuple[str, ...]]:
    """The texts of each row, in the order of the rows; one or two, see `Serving.row_texts`.

    Raises:
      ValueError: where the rows have more or fewer texts than the task says.
    """
    if data.texts is not None:
        return data.texts
    rows, each = len(_flat(data.rows["input_ids"])), len(task.serving.row_texts)
    texts = [text for example in data.examples for text in task.files.texts(example)]
    if len(texts) != rows * each:
        raise ValueError(
            f"{data.name} has {len(texts)} texts for {rows} rows, expected {rows * each}: a row of this file "
            f"is made of {' and '.join(task.serving.row_texts)}."
        )
    return list(zip(*[iter(texts)] * each, strict=True))


def read_otherwise(
    reader: str,
    read: Callable[[list[tuple[str, ...]]], dict],
    texts: list[tuple[str, ...]],
    data: ComparisonData,
    tokens,
    reasons: dict[str, Callable[[str], bool]],
) -> OtherReading:
    """Reads the texts of all rows with another tokenizer, and warns where that makes other ids.

    Args:
      reader: the tokenizer's name, for the warning.
      read: function from rows of texts to ENCODER_INPUTS, int32 (rows, length).
      texts: of each row, see `rows_of_texts`.
      data: the rows, by BERT's rules.
      tokens: the pieces in id order.
      reasons: a table of reasons.py.
    """
    exact, other = {name: _flat(data.rows[name]) for name in ENCODER_INPUTS}, read(texts)
    changed = np.any([(exact[name] != other[name]).any(axis=1) for name in ENCODER_INPUTS], axis=0)
    listed = []
    for row in map(int, np.flatnonzero(changed)):
        whole = " | ".join(texts[row])
        about = {"text": whole[:_SHOWN], "reasons": reasons_of(whole, reasons)}
        pieces = exact["input_ids"][row], other["input_ids"][row]
        place = np.argmax(pieces[0] != pieces[1])
        expected, found = (tokens[ids[place]] for ids in pieces)
        listed.append({"place": row} | about | {"expected": expected, "read": found})
    counted = collections.Counter(reason for one in listed for reason in one["reasons"]).most_common()
    if listed:
        logging.warning(
            "%s reads %d of %d texts otherwise than the model was trained with (%s); the report lists them.",
            reader, len(listed), len(texts), "; ".join(f"{number}: {reason}" for reason, number in counted),
        )  # fmt: skip
    report = {
        "num_texts": len(texts),
        "read_alike": len(texts) - len(listed),
        "reasons": dict(counted),
        "read_otherwise": listed[:MOST_LISTED],
    }
    shaped = {name: other[name].reshape(data.rows[name].shape) for name in ENCODER_INPUTS}
    return OtherReading(data._replace(rows=data.rows | shaped), changed, report)


def quality_of_reading(task, model, reading: OtherReading, answered: Answered, expected: Answered) -> dict:
    """What the other reading does to a file's answers.

    Args:
      task: the task.
      model: the file, a `LiteRTModel`.
      reading: of all rows. Only those that are read otherwise are asked again.
      answered: the file's answers to the rows by BERT's rules.
      expected: Keras's.

    Returns:
      `agreement`, the share of answers that are Keras's, and the task's `metrics`; of vectors their `cosine`
      with Keras's, see `compare`.
    """

    def answer(inputs):
        found = {name: values.copy() for name, values in answered.by_ids.items()}
        again = model.answer_ids({name: values[reading.changed] for name, values in inputs.items()})
        for name, values in again.items():
            found[name][reading.changed] = values
        return found

    there = answers_to(task, answer, reading.data)
    found = compare(task, there, expected, reading.data)
    kept = {key: found[key] for key in ("agreement", "cosine") if key in found}
    return kept | {"metrics": metrics_of(task, there, reading.data)}


def _flat(values) -> np.ndarray:
    """A row for each text."""
    return np.reshape(values, (-1, np.shape(values)[-1]))
