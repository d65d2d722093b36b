"""Files with a text, several choices and the right one in each row. Nothing heavy is imported."""

import json
import string
from typing import NamedTuple

from absl import logging

from kbert.input_pipelines import labelled_files
from kbert.input_pipelines.label_names import as_number
from kbert.input_pipelines.labels import class_label
from kbert.tasks.files import Files


class Choices(NamedTuple):
    """A text, its choices, and the index of the right choice (None without a label)."""

    text: str
    choices: tuple[str, ...]
    label: int | None


class ChoiceFiles(Files):
    """TSV, CSV or JSONL files or tables with a column for each choice."""

    def read_examples(self, path, dataset, with_labels=True):
        """`Choices` of a TSV, CSV or JSONL file or a table.

        Raises:
          ValueError: when the config names fewer than two columns of choices, or a label does not name one of
            the choices.
        """
        if len(dataset.choices) < 2:
            raise ValueError(
                f"dataset.choices={list(dataset.choices)}: multiple choice needs the columns of at least two "
                'choices, for example choices = ["ending0", "ending1"].'
            )
        label = dataset.label if with_labels else None
        columns = (dataset.text, dataset.text_pair, *dataset.choices, label)

        def read(record, label, where):
            text = labelled_files.text_cell(record, dataset.text, where)
            choices = [labelled_files.text_cell(record, column, where) for column in dataset.choices]
            if dataset.text_pair:
                beginning = labelled_files.text_cell(record, dataset.text_pair, where)
                choices = [f"{beginning} {choice}" for choice in choices]
            return Choices(text, tuple(choices), label)

        read_label = _right_choice if with_labels else None
        return labelled_files.stream_examples(path, dataset, columns, read, with_labels, read_label)

    def complete_dataset(self, dataset, examples):
        """The dataset itself. Warns of labels that seem to count from 1."""
        labels = {example.label for example in examples}
        if not dataset.labels and 0 not in labels and len(labels) == len(dataset.choices) - 1 > 1:
            logging.warning(
                "no row has the first choice (label 0) as its right one; if the file counts from 1, list its "
                "labels in dataset.labels, in the order of the choices."
            )
        return dataset


def _right_choice(record, dataset, where):
    """The index of the right choice: as `dataset.labels` names them in the order of the choices, or else by
    the name of its column, its number from 0, its letter, or its text."""
    label, number = class_label(record, dataset, where), len(dataset.choices)
    letters = tuple(string.ascii_uppercase[:number])
    texts = tuple(record.get(column) for column in dataset.choices)
    own = dataset.labels if len(dataset.labels) == number else ()
    numbers = tuple(map(str, range(number)))
    value = as_number(label)
    bare = str(int(value)) if value is not None and value == int(value) else label.strip()
    for names, name in (
        (own, label), (dataset.choices, label), (numbers, bare), (letters, bare), (texts, label),
        (tuple(map(str.lower, letters)), bare),
    ):  # fmt: skip
        if names.count(name) == 1:
            return names.index(name)
    from_1 = json.dumps([str(n + 1) for n in range(number)])
    raise ValueError(
        f"{where}: label {label!r} does not name a choice; expected a number from 0 to {number - 1}, a "
        f"letter from A to {letters[-1]}, the right choice's text or the name of its column."
        + (f" If the file counts from 1, set dataset.labels={from_1}." if label == str(number) else "")
    )
