"""Files with a text, several choices and the right one in each row. Nothing heavy is imported."""

import json
import string
from collections import Counter
from typing import NamedTuple

from absl import logging

from kbert.cli.warn_once import warn_once
from kbert.input_pipelines import labelled_files
from kbert.input_pipelines.label_names import as_number
from kbert.input_pipelines.labels import SIGNS, class_label, require_label
from kbert.tasks.files import ROW_SETTINGS, Files

# Fewer texts in a file, or one of more rows, are instructions, such as "Which word means the opposite?"
_PASSAGES, _QUESTIONS = 10, 30


class Choices(NamedTuple):
    """A text, its choices, and the index of the right choice (None without a label)."""

    text: str
    choices: tuple[str, ...]
    label: int | None


class ChoiceFiles(Files):
    """Files with a column for each choice."""

    settings = (*ROW_SETTINGS, "choices", "labels")

    def read_examples(self, path, dataset, with_labels=True):
        """`Choices` of a file.

        Raises:
          ValueError: when the config names fewer than two columns of choices or another number of labels, a
            label does not name one of the choices or an empty one, or labels may mean two of them, see
            `_RightChoice`.
        """
        if len(dataset.choices) < 2:
            raise ValueError(
                f"dataset.choices={list(dataset.choices)}: multiple choice needs the columns of at least two "
                'choices, for example choices = ["ending0", "ending1"]. Of a column of lists make a column '
                "for each choice."
            )
        labels = list(dataset.labels)
        if with_labels and labels and len(labels) != len(dataset.choices):
            raise ValueError(
                f"dataset.labels={labels} has {len(labels)} entries for {len(dataset.choices)} columns of "
                f"dataset.choices={list(dataset.choices)}; list one for each, in their order, or none."
            )
        label = dataset.label if with_labels else None
        columns = (dataset.text, dataset.text_pair, *dataset.choices, label)

        def read(record, label, where):
            text = labelled_files.text_cell(record, dataset.text, where)
            choices = [labelled_files.text_cell(record, column, where) for column in dataset.choices]
            if label is not None and not choices[label].strip():
                raise ValueError(
                    f"{where}: its label {record[dataset.label]!r} is the choice in "
                    f"{dataset.choices[label]!r}, which is empty; fix the label or write the choice."
                )
            if dataset.text_pair:
                beginning = labelled_files.text_cell(record, dataset.text_pair, where)
                choices = labelled_files.whole_choices(beginning, choices)
            return Choices(text, tuple(choices), label)

        right = _RightChoice(path)
        read_label = right.read if with_labels else None
        yield from labelled_files.stream_examples(path, dataset, columns, read, with_labels, read_label)
        right.judge()

    def texts(self, example):
        return example.text, *example.choices

    def groups(self, examples):
        """The first texts: all questions about a passage, and all orders of a question's choices, stay
        together. With the choices, where texts are instructions: a part of them is no share of the rows."""
        rows, others = Counter(example.text for example in examples), super().groups(examples)
        most = _QUESTIONS if len(rows) >= _PASSAGES else 0
        pairs = zip(examples, others, strict=True)
        return [example.text if rows[example.text] <= most else other for example, other in pairs]

    def drawn_by(self, examples):
        """The texts with the choices, which questions about a passage do not share."""
        return super().groups(examples)

    def complete_dataset(self, dataset, examples, path=None):
        """The dataset itself. Warns of labels that seem to count from 1."""
        labels = {example.label for example in examples}
        if not dataset.labels and 0 not in labels and len(labels) == len(dataset.choices) - 1:
            logging.warning(
                "no row has the first choice (label 0) as its right one; if the file counts from 1, list its "
                "labels in dataset.labels, in the order of the choices."
            )
        return dataset


class _RightChoice:
    """Reads the right choices of a file.

    "2" may be the number of one choice and the text of another. It is read as the number, and refused where
    other rows of the file are named by their texts. Beside letters it would be read as the third choice, and
    means the second in ARC.
    """

    def __init__(self, path):
        self._path = path
        self._ways: dict[str, str] = {}  # how labels that mean one choice name it, and where the first does
        self._doubtful: list[tuple[str, str, str]] = []  # where, and the first and second way of such a label

    def read(self, record, dataset, where):
        """The index of the right choice.

        Raises:
          ValueError: for a label that names no choice.
          NoLabel: where it marks a row without one, such as -1.
        """
        label = record.get(dataset.label)
        is_text = isinstance(label, str) and label.strip() and label in map(record.get, dataset.choices)
        if dataset.labels or not is_text:  # "?" and "None" are choices, too
            label = class_label(record, dataset, where)
        ways = _named(label, record, dataset, where)
        shown = f"{where}: label {record[dataset.label]!r}"
        first, *others = ways.values()
        if others:
            self._doubtful.append((shown, first, others[0]))
        else:
            self._ways.setdefault(first, shown)
        return next(iter(ways))

    def judge(self):
        """Judges, after the last row, the labels that may mean two choices.

        Raises:
          ValueError: where other rows are named in the second way; for numbers beside letters.
        """
        ways = {first: label for label, first, _ in reversed(self._doubtful)} | self._ways
        if "number" in ways and "letter" in ways:
            raise ValueError(
                f"{ways['number']} is a number, and {ways['letter']} a letter: numbers are read from 0, but "
                "beside letters they may count from 1, as in ARC; write all labels as letters."
            )
        for label, first, second in self._doubtful:
            doubt = (
                f"{label} is the {first} of one choice and the {second} of another; write the names of the "
                "columns instead, or list the numbers of all choices in dataset.labels if they are numbers."
            )
            if second in self._ways:
                raise ValueError(f"{doubt} Other rows have the {second}.")
            if not self._ways:
                warn_once(f"{doubt} It is read as the {first}.")
                return


def _named(label, record, dataset, where) -> dict[int, str]:
    """The choices that a label names -> how: as `dataset.labels` lists them in the order of the choices, or
    else by the name of its column, its number from 0, its letter, or its text."""
    number = len(dataset.choices)
    letters = tuple(string.ascii_uppercase[:number])
    texts = tuple(record.get(column) for column in dataset.choices)
    numbers = tuple(map(str, range(number)))
    value = as_number(label)
    bare = str(int(value)) if value is not None and value == int(value) else label.strip()
    if label in dataset.labels:
        return {dataset.labels.index(label): "label"}
    named: dict[int, str] = {}
    for how, names, name in (
        ("column", dataset.choices, label), ("number", numbers, bare), ("letter", letters, bare),
        ("text", texts, label), ("letter", tuple(map(str.lower, letters)), bare),
    ):  # fmt: skip
        if names.count(name) == 1:
            named.setdefault(names.index(name), how)
    if named:
        return named
    require_label(label, dataset, where, SIGNS if dataset.skip_unlabelled else ())
    from_1 = json.dumps([str(n + 1) for n in range(number)])
    raise ValueError(
        f"{where}: label {label!r} does not name a choice; expected a number from 0 to {number - 1}, a "
        f"letter from A to {letters[-1]}, the right choice's text or the name of its column."
        + (f" If the file counts from 1, set dataset.labels={from_1}." if label == str(number) else "")
    )
