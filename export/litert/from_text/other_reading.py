"""The rows of a comparison as another tokenizer reads their texts: which are others, and what that does."""

import collections
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from absl import logging

from kbert.features import ENCODER_INPUTS

from ..comparison import answers_to, compare, metrics_of
from ..comparison_data import ComparisonData
from .measured import Measured

MOST_LISTED = 200  # texts in a report
_SHOWN = 200  # characters of each


class OtherReading(NamedTuple):
    """A reading of all rows.

    Args:
      data: the rows with the ids of the other tokenizer.
      changed: for each batch bool (rows,): whose ids are others than BERT's rules give.
      report: `num_texts`, `read_alike`; `reasons`, how many of the others have each; and
        `read_otherwise`: for each of the first MOST_LISTED of these its place among all, the text, its
        `reasons`, and the first piece that is another, `expected` and `read`.
    """

    data: ComparisonData
    changed: list[np.ndarray]
    report: dict


def rows_of_texts(task, data: ComparisonData) -> list[tuple[str, ...]]:
    """The texts of each row, in the order of the rows; one or two, see `Task.row_texts`.

    Raises:
      ValueError: where the rows have more or fewer texts than the task says.
    """
    if data.texts is not None:
        return data.texts
    rows = sum(int(np.prod(batch["input_ids"].shape[:-1])) for batch in data.batches)
    each = len(task.row_texts)
    texts = [text for example in data.examples for text in task.texts_of(example)]
    if len(texts) != rows * each:
        raise ValueError(
            f"{data.name} has {len(texts)} texts for {rows} rows, expected {rows * each}: a row of this file "
            f"is made of {' and '.join(task.row_texts)}."
        )
    return list(zip(*[iter(texts)] * each, strict=True))


def read_otherwise(
    read: Callable[[list[tuple[str, ...]]], dict],
    texts: list[tuple[str, ...]],
    data: ComparisonData,
    tokens,
    reasons: Callable[[str], list[str]],
) -> OtherReading:
    """Reads the texts of all rows with another tokenizer.

    Args:
      read: function from rows of texts to ENCODER_INPUTS, int32 (rows, length).
      texts: of each row, see `rows_of_texts`.
      data: the rows, by BERT's rules.
      tokens: the pieces in id order.
      reasons: function from a text to what in it can be the cause.
    """
    batches, changed, listed, start = [], [], [], 0
    for batch in data.batches:
        exact = _flat(batch)
        part = texts[start : start + len(exact["input_ids"])]
        other = read(part)
        differs = np.any([(exact[name] != other[name]).any(axis=1) for name in ENCODER_INPUTS], axis=0)
        for row in np.flatnonzero(differs):
            pieces = _first_difference(exact["input_ids"][row], other["input_ids"][row], tokens)
            whole = " | ".join(part[row])
            about = {"text": whole[:_SHOWN], "reasons": reasons(whole)}
            listed.append({"place": start + int(row)} | about | pieces)
        shaped = {name: other[name].reshape(batch[name].shape) for name in ENCODER_INPUTS}
        batches.append(batch | shaped)
        changed.append(differs)
        start += len(part)
    report = {
        "num_texts": start,
        "read_alike": start - len(listed),
        "reasons": _counted(reason for one in listed for reason in one["reasons"]),
        "read_otherwise": listed[:MOST_LISTED],
    }
    return OtherReading(data._replace(batches=batches), changed, report)


def warn_of_other_reading(reader: str, reading: OtherReading):
    """Warns where texts are read otherwise."""
    report = reading.report
    if others := report["num_texts"] - report["read_alike"]:
        why = "; ".join(f"{number}: {reason}" for reason, number in report["reasons"].items())
        logging.warning(
            "%s reads %d of %d texts otherwise than the model was trained with (%s); the report lists them.",
            reader, others, report["num_texts"], why,
        )  # fmt: skip


def quality_of_reading(task, measured: Measured, reading: OtherReading) -> dict:
    """What the other reading does to a file's answers.

    Args:
      task: the task.
      measured: the file, with its answers to the rows by BERT's rules. Only rows that are read otherwise are
        asked again.
      reading: of the same rows.

    Returns:
      `agreement`, the share of answers that are Keras's, and the task's `metrics`; of vectors their `cosine`
      with Keras's, see `compare`.
    """
    calls = iter(enumerate(reading.changed))

    def answer(inputs):
        call, changed = next(calls)
        known = {name: parts[call].copy() for name, parts in measured.answered.by_ids.items()}
        if changed.any():
            found = measured.model.answer_ids({name: values[changed] for name, values in inputs.items()})
            for name, values in known.items():
                values[changed] = found[name]
        return known

    there = answers_to(task, answer, reading.data)
    found = compare(task, there, measured.expected, reading.data)
    kept = {key: found[key] for key in ("agreement", "cosine") if key in found}
    return kept | {"metrics": metrics_of(task, there, reading.data)}


def _counted(reasons: Iterable[str]) -> dict[str, int]:
    """How often each occurs, the most frequent first."""
    return dict(collections.Counter(reasons).most_common())


def _flat(batch):
    """ENCODER_INPUTS with a row for each text."""
    return {name: np.reshape(batch[name], (-1, batch[name].shape[-1])) for name in ENCODER_INPUTS}


def _first_difference(exact, other, tokens) -> dict:
    place = int(np.flatnonzero(exact != other)[0]) if (exact != other).any() else 0
    return {"expected": tokens[exact[place]], "read": tokens[other[place]]}
