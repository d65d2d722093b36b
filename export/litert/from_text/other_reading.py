"""The rows of a comparison as another tokenizer reads their texts: which are others, and what that does."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from kbert.features import ENCODER_INPUTS

from ..comparison import Answered, answers_to, compare, metrics_of
from ..comparison_data import FIXED_TEXTS, ComparisonData

MOST_LISTED = 200  # texts in a report
_SHOWN = 200  # characters of each


class OtherReading(NamedTuple):
    """A reading of all rows.

    Args:
      data: the rows with the ids of the other tokenizer.
      changed: for each batch bool (texts,): whose ids are others than BERT's rules give.
      report: `num_texts`, `read_alike`, and `read_otherwise`: for each of the first MOST_LISTED texts its
        place among all texts, the text, `reasons`, and the first piece that is another, `expected` and
        `read`.
    """

    data: ComparisonData
    changed: list[np.ndarray]
    report: dict


def texts_of_data(task, data: ComparisonData) -> list[str]:
    """The text of each row, in the order of the rows.

    Raises:
      ValueError: where a row is made of more than one text.
    """
    rows = sum(int(np.prod(batch["input_ids"].shape[:-1])) for batch in data.batches)
    if data.examples is None:
        return list(FIXED_TEXTS[:rows])
    texts = [text for example in data.examples for text in task.texts_of(example)]
    if len(texts) != rows:
        raise ValueError(
            f"{data.name} has {len(texts)} texts for {rows} rows; a file that is asked with one text takes "
            "single texts."
        )
    return texts


def read_otherwise(
    read: Callable[[list[str]], dict],
    texts: list[str],
    data: ComparisonData,
    tokens,
    reasons: Callable[[str], list[str]],
) -> OtherReading:
    """Reads the texts of all rows with another tokenizer.

    Args:
      read: function from texts to ENCODER_INPUTS, int32 (texts, length) with the length of the rows.
      texts: one for each row, see `texts_of_data`.
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
            about = {"text": part[row][:_SHOWN], "reasons": reasons(part[row])}
            listed.append({"place": start + int(row)} | about | pieces)
        shaped = {name: other[name].reshape(batch[name].shape) for name in ENCODER_INPUTS}
        batches.append(batch | shaped)
        changed.append(differs)
        start += len(part)
    report = {"num_texts": start, "read_alike": start - len(listed), "read_otherwise": listed[:MOST_LISTED]}
    return OtherReading(data._replace(batches=batches), changed, report)


def quality_of_reading(task, ask, answered: Answered, expected: Answered, reading: OtherReading) -> dict:
    """What the other reading does to a file's answers.

    Args:
      task: the task.
      ask: function from ENCODER_INPUTS to the file's outputs for these rows, see `LiteRTModel.answer_ids`.
        Only rows that are read otherwise are asked.
      answered: the file's answers to the rows by BERT's rules.
      expected: Keras's answers to these.
      reading: of the same rows.

    Returns:
      `agreement`, the share of answers that are Keras's, and the task's `metrics`.
    """
    calls = iter(enumerate(reading.changed))

    def answer(inputs):
        call, changed = next(calls)
        known = {name: parts[call].copy() for name, parts in answered.by_ids.items()}
        if changed.any():
            found = ask({name: values[changed] for name, values in inputs.items()})
            for name, values in known.items():
                values[changed] = found[name]
        return known

    there = answers_to(task, answer, reading.data)
    agreement = compare(task, there, expected, reading.data)["agreement"]
    return {"agreement": agreement, "metrics": metrics_of(task, there, reading.data)}


def reasons_counted(listed: Iterable[dict]) -> dict[str, int]:
    """How many of the listed texts have each reason, the most frequent first."""
    counts: dict[str, int] = {}
    for one in listed:
        for reason in one["reasons"]:
            counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _flat(batch):
    """ENCODER_INPUTS with a row for each text."""
    return {name: np.reshape(batch[name], (-1, batch[name].shape[-1])) for name in ENCODER_INPUTS}


def _first_difference(exact, other, tokens) -> dict:
    place = int(np.flatnonzero(exact != other)[0]) if (exact != other).any() else 0
    return {"expected": tokens[exact[place]], "read": tokens[other[place]]}
