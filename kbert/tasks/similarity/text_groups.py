"""Rows of a labelled file with two or more texts each, and a score where the file has one."""

import functools
import operator
import re
from typing import NamedTuple

import numpy as np
from absl import logging

from kbert.cli.shares import say_share
from kbert.cli.warn_once import warn_once
from kbert.config.vectors_config import warn_of_written_prompts
from kbert.files.json_values import shown
from kbert.input_pipelines import labelled_files, text_reader
from kbert.input_pipelines.distinct_batches import positives_of_queries
from kbert.input_pipelines.empty_texts import is_nothing
from kbert.input_pipelines.label_checks import with_judged_numbers
from kbert.input_pipelines.label_lists import listed_words
from kbert.input_pipelines.labels import NEGATIVE_COLUMN, PAIR_LABELS, NoLabel, number_label, plain_number
from kbert.input_pipelines.repeated_rows import as_read, hashes_as_read
from kbert.tasks.files import ROW_SETTINGS, Files


class TextGroup(NamedTuple):
    """The texts of an example, and its score.

    Fields:
      texts: two texts that are compared; or a query, its positive, and hard negatives.
      score: how alike the first two are, as the file says it; None where it says nothing.
    """

    texts: tuple[str, ...]
    score: float | None


class TaughtGroup(NamedTuple):
    """A `TextGroup` without a score, and how well each other text fits the first, as a teacher says it."""

    texts: tuple[str, ...]
    score: None
    teacher_scores: tuple[float, ...]


class ScoredPairFiles(Files):
    """Files of two texts and a number in each row."""

    settings: tuple[str, ...] = ROW_SETTINGS

    def read_examples(self, path, dataset, with_labels=True):
        """`TextGroup`s of two texts and a score.

        Raises:
          ValueError: as `labelled_files.stream_records` does.
        """

        def read(record, score, where):
            return TextGroup(_two_texts(record, dataset, where), score)

        return _stream(path, dataset, read, number_label if with_labels else None, with_labels, dataset.label)

    def texts(self, example):
        return example.texts


class PositiveFiles(ScoredPairFiles):
    """Files of queries with their positives and negatives; or of pairs with scores, where that column is."""

    settings: tuple[str, ...] = (*ROW_SETTINGS, "negatives")
    takes_fewer_negatives = False  # than columns, where a cell has no text

    def read_examples(self, path, dataset, with_labels=True):
        """`TextGroup`s: query, positive and negatives; two texts and a score from a file with scores.

        Raises:
          ValueError: as `labelled_files.stream_records` does; for a negative that is also the positive, and
            for a row with a score and negatives.
        """

        def read(record, score, where):
            texts = _two_texts(record, dataset, where)
            if dataset.label in record:
                if beside := [column for column in dataset.negatives if column in record]:
                    unread = "dataset.label to a column that is not there"
                    if dataset.column_names:
                        unread = "another name for it in dataset.column_names"
                    raise ValueError(
                        f"{where} has a score (the column {dataset.label!r}) and negatives "
                        f"({', '.join(map(repr, beside))}), and is read by one of them; leave the others "
                        f"out: set dataset.negatives=[], or {unread}."
                    )
                return TextGroup(texts, score)
            _say_unread(record, dataset, path)
            if with_labels:
                _say_unread_label(record, dataset, path)
            negatives = self._negatives(record, dataset, where)
            _require_no_lists((*texts[1:], *negatives), where)
            if as_read(texts[1], str) in (as_read(negative, str) for negative in negatives):
                raise ValueError(
                    f"{where}: the positive {texts[1][:80]!r} is among its own negatives; fix the row or "
                    "leave it out."
                )
            return self.ranked((*texts, *negatives), record, dataset, where)

        return _stream(path, dataset, read, _score if with_labels else None, with_labels)

    def _negatives(self, record, dataset, where):
        columns = dataset.negatives
        empty = [name for name in columns if name in record and is_nothing(record[name])]
        if empty and not self.takes_fewer_negatives:
            raise ValueError(
                f"{where} has no text in {', '.join(map(repr, empty))}: each row has as many negatives as "
                "dataset.negatives has columns; fill them, or leave the column out."
            )
        return [labelled_files.text_cell(record, name, where) for name in columns if name not in empty]

    def ranked(self, texts, record, dataset, where):
        """The example of a row without a score."""
        return TextGroup(texts, None)

    def groups(self, examples):
        """The queries: a positive in one part of a split is not wrong in the other. Pairs with scores stand
        alone."""
        alone = super().groups(examples)
        return [
            own if example.score is not None else repr(example.texts[0])
            for own, example in zip(alone, examples, strict=True)
        ]

    def texts_apart(self, examples):
        """The texts of each example, see `_in_one_spelling`."""
        return _in_one_spelling(examples)

    def warn_of_contradictions(self, examples):
        """Logs a warning where a negative is a positive of its query in a training example, or the query."""
        rows = _in_one_spelling(examples)
        positives = positives_of_queries(rows)
        wrong = ((row[0], negative) for row in rows for negative in row[2:])
        warn_of_right_and_wrong([pair for pair in wrong if pair[1] in positives[pair[0]]])
        if own := [row[0] for row in rows if row[0] in row[2:]]:
            say_share(
                len(own), len(rows), "training examples",
                f"have the query itself as a negative, such as {own[0][:80]!r}: no training moves a text "
                "away from itself, and its similarity outweighs the others. Leave these negatives out.",
                logging.WARNING,
            )  # fmt: skip

    def require_positives(self, examples, dataset, task: str):
        """Raises ValueError for a training example with a score: its second text need not be right."""
        for number, example in enumerate(examples, 1):
            if example.score is not None:
                raise ValueError(
                    f"training example {number} has a score (the column {dataset.label!r}), but {task} "
                    "takes the second text of every row as a positive; train on rows without scores, or use "
                    "a task that learns scores."
                )


class TaughtFiles(PositiveFiles):
    """`PositiveFiles` that may have a teacher's scores of the positive and the negatives of each row."""

    settings = (*PositiveFiles.settings, "scores")

    def ranked(self, texts, record, dataset, where):
        """A `TaughtGroup` where the row has the column `dataset.scores`, else a `TextGroup`.

        Raises:
          ValueError: where that is no list of a number for each text but the query.
        """
        if dataset.scores is None or dataset.scores not in record:
            return TextGroup(texts, None)
        _require_in_order(dataset)
        scores, number = record[dataset.scores], len(texts) - 1
        listed = scores if isinstance(scores, list) else []
        numbers = [score for score in map(plain_number, listed) if score is not None]
        if not len(numbers) == len(listed) == number:
            raise ValueError(
                f"{where}: dataset.scores={dataset.scores!r} is {shown(scores)}; expected a list of "
                f"{number} finite numbers, of the positive and of each negative, as kbert hard-negatives "
                "with --cross_encoder writes them."
            )
        return TaughtGroup(texts, None, tuple(numbers))

    def texts_apart(self, examples):
        """None where a teacher has scored each row: such a row learns from its own texts alone."""
        taught = all(isinstance(example, TaughtGroup) for example in examples)
        return None if taught else super().texts_apart(examples)

    def require_scores(self, examples, dataset):
        """Raises ValueError for a training example without a teacher's scores, where these are learnt."""
        for number, example in enumerate(examples, 1):
            if not isinstance(example, TaughtGroup):
                raise ValueError(
                    f"training example {number} has no column {dataset.scores!r}, in which dataset.scores "
                    "says a teacher's scores are; score the rows, or leave dataset.scores out."
                )


def _in_one_spelling(examples) -> list[tuple[str, ...]]:
    """The texts of each example; in the place of one that reads like an earlier one (`as_read`), that one."""
    first: dict[int, str] = {}
    read = hashes_as_read()
    return [tuple(first.setdefault(read(text), text) for text in example.texts) for example in examples]


def _say_unread(record, dataset, path):
    """Warns of columns of negatives that the dataset does not name."""
    if unread := [
        name for name in record if NEGATIVE_COLUMN.fullmatch(name) and name not in dataset.negatives
    ]:
        warn_once(
            f"{path} has {', '.join(map(repr, unread))}, which dataset.negatives="
            f"{shown(list(dataset.negatives))} does not name: they are not read."
        )


def _say_unread_label(record, dataset, path):
    """Warns of a column that may say which pairs are right, where the dataset names another."""
    named = {dataset.text, dataset.text_pair, *dataset.negatives, dataset.scores}
    for name in PAIR_LABELS:
        if name in record and name not in named:
            warn_once(
                f"{path} has a column {name!r}, which dataset.label={dataset.label!r} does not name: it is "
                "not read, and the second text of every row is taken as right for the first one."
            )


def warn_of_right_and_wrong(pairs: list[tuple[str, str]]):
    """Logs a warning of (query, negative) that are right in other training examples."""
    if pairs:
        logging.warning(
            "%d negatives are positives of the same query in training examples (ignoring capitals and "
            "blanks); the first is %r, of the query %r. Leave them out: training pulls both ways.",
            len(pairs), pairs[0][1][:80], pairs[0][0][:80],
        )  # fmt: skip


def _stream(path, dataset, read, read_label, with_labels, label=None):
    """The examples of a file of two texts or more."""
    if not dataset.text_pair:
        raise ValueError(
            "dataset.text_pair is not set: sentence similarity compares two texts; name the column of the "
            'second one, for example text_pair = "sentence2".'
        )
    columns = (dataset.text, dataset.text_pair, label if with_labels else None)
    examples = functools.partial(
        labelled_files.stream_examples, path, dataset, columns, read, with_labels, read_label
    )
    if read_label is None:
        return examples()
    return with_judged_numbers(examples, operator.attrgetter("score"), dataset.skip_unlabelled, path)


def _two_texts(record, dataset, where):
    columns = (dataset.text, dataset.text_pair)
    return tuple(labelled_files.text_cell(record, column, where) for column in columns)


def _require_in_order(dataset):
    """Raises ValueError for negative_2 before negative_1, whose scores would be the other way round."""
    highest: dict[str, int] = {}
    for name in dataset.negatives:
        if numbered := re.fullmatch(r"(.*?)(\d+)", name):
            stem, number = numbered[1], int(numbered[2])
            if number < highest.get(stem, 0):
                raise ValueError(
                    f"dataset.negatives={shown(list(dataset.negatives))}: the teacher's scores in "
                    f"{dataset.scores!r} are in the order of the columns; list {name!r} before those of "
                    "higher numbers."
                )
            highest[stem] = number


def _require_no_lists(texts, where):
    """Refuses lists that a program, such as pandas, printed into cells."""
    for text in texts:
        if text.startswith("[") and listed_words(text):  # "(Yesterday)" may be a title
            raise ValueError(
                f"{where} has {text[:80]!r} as a text, which looks like a list of texts; write a row, or a "
                "column of dataset.negatives, for each."
            )


def _score(record, dataset, where):
    """The score of a row; None where the file has none."""
    if dataset.label not in record:
        return None
    try:
        return number_label(record, dataset, where)
    except NoLabel:
        raise
    except ValueError as error:
        raise ValueError(
            f"{error} The column dataset.label={dataset.label!r} should hold the similarity of the "
            "two texts; if it holds something else, set dataset.label to a name that no column has."
        ) from None


def text_numbers(rows: list[tuple[str, ...]]) -> np.ndarray:
    """The same number for texts that read alike, see `as_read`: int64 (rows, texts); missing texts are empty
    ones."""
    longest = max(map(len, rows), default=0)
    numbers: dict[int, int] = {}
    read = hashes_as_read()
    return np.array(
        [
            [numbers.setdefault(read(text), len(numbers)) for text in (*row, *[""] * (longest - len(row)))]
            for row in rows
        ],
        np.int64,
    )


def tokenize_groups(
    groups: list, num_texts: int, prompts: list[list[str]], text_inputs
) -> dict[str, np.ndarray]:
    """Encoder inputs, int32 of shape (groups, texts, max_seq_length); missing texts are empty ones.

    `prompts` has for each group what stands before each of its texts.
    """
    prompted = [
        (prompt, text)
        for group, before in zip(groups, prompts, strict=True)
        for prompt, text in zip(before, (*group.texts, *[""] * num_texts), strict=False)
    ]
    for own in {prompt for prompt, _ in prompted}:
        warn_of_written_prompts(own, [text for prompt, text in prompted if prompt == own])
    texts = [labelled_files.LabelledText(text and prompt + text, None, None) for prompt, text in prompted]
    shape = (len(groups), num_texts, text_inputs.max_seq_length)
    return {
        name: values.reshape(shape) for name, values in text_reader.tokenize_rows(texts, text_inputs).items()
    }
