"""Rows of labelled files in which nothing stands, or what programs write where there is no text."""

import re
from collections.abc import Mapping

from kbert.cli.warn_once import warn_once
from kbert.input_pipelines.label_names import is_seen
from kbert.input_pipelines.labels import NO_VALUE

# Where a program wrote a line end, as JSON and MySQL do: no command of LaTeX (\\nu), no "\\n" of source code.
_WRITTEN_LINE_END = re.compile(r"(?<!\\)(\\r\\n|\\n(\\n|\s|[A-Z]))")
_SOME, _SHARE = 10, 100  # at least so many texts, and more than one of so many


def with_texts(records, path, dataset, read, problems):
    """The rows of a labelled file in which something stands, in the columns that are read."""
    texts = [column for column in dataset.text_columns if column not in dataset.negatives]
    one_empty, skipped, marks, rows, escaped = EmptyTextCounter(), 0, [], 0, 0
    # None is a word of sentences, and the right one of several choices.
    signs = NO_VALUE - {"None"} if dataset.sentence or dataset.choices else NO_VALUE
    holds_text = str.strip if dataset.sentence else is_seen  # words of tweets may be joiners alone
    for where, record in records:
        rows += 1
        for column in texts:  # no generator expression: this is done for every row
            text = record.get(column)
            if not isinstance(text, str) or not holds_text(text):
                break
            if text in signs:
                marks.append((text, where))
            escaped += "\\n" in text and "\n" not in text and _WRITTEN_LINE_END.search(text) is not None
        else:
            if dataset.negatives:
                marks += [(cell, where) for cell in map(record.get, dataset.negatives) if _is_no_value(cell)]
            yield where, record
            continue
        judged = read if record.keys() >= set(texts) else record  # which lacks a column
        if all(map(is_nothing, map(record.get, judged))):
            if dataset.skip_empty_rows:
                skipped += 1
            else:
                problems.add_empty(where)
        else:
            try:
                one_empty.check({column: record[column] for column in texts if column in record}, where)
            except ValueError as error:
                problems.add(error)
            else:
                yield where, record
    one_empty.say()
    if marks:
        mark, first = marks[0]
        warn_once(
            f"{path}: {len(marks):,} text(s) are what programs write where there is none, the first {mark!r} "
            f"({first}); they are read as words. Excel makes #NAME? of a text that begins with - or =."
        )
    if escaped >= _SOME and escaped * _SHARE > rows:
        warn_once(
            f"{path}: {escaped:,} text(s) hold the two characters \\n, which programs write for a line end; "
            "the n is read with the word behind it. Put blanks in their place: text.replace('\\\\n', ' ')."
        )
    if skipped:
        warn_once(f"{path}: {skipped:,} empty row(s) are left out")


def _is_no_value(cell):
    return isinstance(cell, str) and cell in NO_VALUE


def is_nothing(value) -> bool:
    """Whether nothing stands in a cell: null, an empty list, a text of which nothing is seen."""
    return value is None or value == [] or isinstance(value, str) and not is_seen(value)


class EmptyTextCounter:
    """Refuses labelled examples with nothing to read; counts those with nothing in one of several texts.

    GLUE's QQP has two pairs with an empty second question (github.com/huggingface/datasets/issues/277), which
    are used in all figures. One object is for one reading of a file.
    """

    def __init__(self):
        self._number, self._first = 0, None

    def check(self, texts: Mapping, where: str):
        """Counts an example with an empty text.

        Args:
          texts: name -> text; anything but a string is a matter of others.
          where: file and line, for messages.

        Raises:
          ValueError: when all texts of the example are empty.
        """
        empty = [name for name, text in texts.items() if isinstance(text, str) and not is_seen(text)]
        if empty and len(empty) == len(texts):
            columns = f"column{'s' if len(empty) > 1 else ''} {', '.join(map(repr, empty))}"
            raise ValueError(f"{where} has no text in {columns}; fix the row or leave it out.")
        if empty:
            self._number += 1
            self._first = self._first or where

    def say(self):
        """Warns of the examples that were counted."""
        if self._number:
            warn_once(
                f"{self._number:,} example(s) have an empty text beside others and are used as they are; the "
                f"first is {self._first}"
            )
