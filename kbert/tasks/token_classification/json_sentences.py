"""JSON lines, or rows of a table, of words and labels, or of a text and its spans -> words and tags."""

import collections
import itertools
from collections.abc import Iterator
from pathlib import Path

from kbert.config import DatasetConfig
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.json_rows import json_type, require_column, text_problem
from kbert.input_pipelines.labelled_files import stream_examples
from kbert.input_pipelines.labels import LEAVE_OUT, NoLabel
from kbert.late_tensorflow import tf
from kbert.tasks.token_classification.conll_files import FileSentence
from kbert.tasks.token_classification.spans import Word, parse_spans, require_no_tags, tag_words
from kbert.tasks.token_classification.word_rows import (
    WORD_ROWS,
    cell_sentence,
    cell_tags,
    read_document,
)
from kbert.tokenization import text_words

_ROWS_AT_ONCE = 256


def read_json_sentences(
    path: str | Path, dataset: DatasetConfig, with_tags: bool = True
) -> Iterator[FileSentence]:
    """Yields a sentence for each line of JSON, or each row of a table.

    `dataset.text` holds a list of words, and `dataset.label` the list of their tags; or it holds a text, and
    `dataset.label` the spans of its entities, see `parse_spans`; or both hold texts as in CSV, of words and
    of their tags, see `cell_sentence`. The words of a text with spans are those of `find_words`, and its tags
    come out in the scheme of `dataset.tag_scheme`. Lines that follow each other with the same value of
    `dataset.document` are one document; without it each line is one.

    Raises:
      ValueError: naming file and line, for words and labels of different lengths, a label that is no string,
        a line without words, and for spans as `tag_words` and, behind the last line, `require_no_tags` do.
    """
    problems, types, lengths = FileProblems(path), set(), collections.Counter[int]()
    read_label = _tags_or_spans if with_tags else None
    records = stream_examples(path, dataset, (dataset.text,), _record, with_tags, read_label)
    while rows := list(itertools.islice(records, _ROWS_AT_ONCE)):
        texts = [None if isinstance(label, tuple) else record.get(dataset.text) for record, label, _ in rows]
        for (record, label, where), words in zip(rows, _find_words(texts), strict=True):
            try:
                if isinstance(label, tuple):
                    sentence = cell_sentence(record, label, dataset, where)
                    lengths[len(sentence.words)] += 1
                else:
                    sentence = _sentence(record, dataset, where, with_tags, words)
            except ValueError as error:
                problems.add(error)
            else:
                if with_tags and isinstance(record[dataset.text], str):
                    types.update(tag.partition("-")[2] for tag in sentence.tags)
                if not problems:
                    yield sentence
            if problems.is_full:
                problems.raise_all()
    problems.raise_all()
    require_no_tags(types, str(path))
    if lengths.total() == lengths[1] > 2:
        raise ValueError(f"{path}: each of {lengths[1]:,} sentences has one word. {WORD_ROWS}")


def _record(record, label, where):
    return record, label, where


def _tags_or_spans(record, dataset, where):
    """What stands in the column of the labels, in a tuple the tags of a cell. Raises NoLabel for null."""
    require_column(record, dataset.label, where)
    if record[dataset.label] is None:
        raise NoLabel(f"{where} has null as its labels {dataset.label!r}; give it some, {LEAVE_OUT}")
    text, label = record.get(dataset.text), record[dataset.label]
    is_cell = (
        isinstance(text, str)
        and isinstance(label, str)
        and not label.lstrip().startswith(("{", "[{", "[[", "[("))
    )
    return cell_tags(record, dataset, where) if is_cell else label


def _sentence(record, dataset, where, with_tags, text_words) -> FileSentence:
    words = _words(record, dataset, where, text_words)
    if not words:
        raise ValueError(f"{where} has no words in {dataset.text!r}; leave the line out.")
    tags = _tags(record, dataset, where, words, text_words) if with_tags else ()
    return FileSentence(words, tags, (where,) * len(words), read_document(record, dataset, where))


def _find_words(cells) -> list[list[Word]]:
    """The words of each cell that is a text, found together; none of other cells."""
    if not any(isinstance(cell, str) for cell in cells):
        return [[] for _ in cells]
    texts = [cell.encode("utf-8", "ignore") if isinstance(cell, str) else b"" for cell in cells]
    columns = (values.to_list() for values in text_words.find_words(tf.constant(texts)))
    return [
        [Word(word.decode(), start, end) for word, start, end in zip(*row, strict=True)]
        for row in zip(*columns, strict=True)
    ]


def _words(record, dataset, where, text_words):
    """Those of a list, or those that were found in a text."""
    require_column(record, dataset.text, where)
    if isinstance(record[dataset.text], list):
        return tuple(_strings(record, dataset.text, dataset, where))
    if why := text_problem(record, dataset.text):
        raise ValueError(f"{where} {why}; expected a text, or a list of words.")
    return tuple(word.text for word in text_words)


def _tags(record, dataset, where, words, text_words):
    if isinstance(record[dataset.text], str):
        spans = parse_spans(record[dataset.label], where)
        return tag_words(record[dataset.text], text_words, spans, dataset.tag_scheme, where)
    tags = tuple(_strings(record, dataset.label, dataset, where))
    if len(tags) != len(words):
        raise ValueError(
            f"{where} has {len(words)} words in {dataset.text!r} but {len(tags)} labels in "
            f"{dataset.label!r}; expected one label for each word."
        )
    return tags


def _strings(record, column, dataset, where):
    values = record[column]
    if not isinstance(values, list):
        raise ValueError(f"{where} has a JSON {json_type(values)} as {column!r}; expected a list of strings.")
    for number, value in enumerate(values, start=1):
        if why := text_problem({column: value}, column):
            advice = (
                " Write the names of the labels, or read a table of `datasets`, whose schema has them."
                if type(value) is int
                else ""
            )
            raise ValueError(
                f"{where}, entry {number} of {column!r}: the line {why}; expected a string.{advice}"
            )
        if not value.strip() and (column == dataset.label or not value):
            raise ValueError(f"{where}, entry {number} of {column!r} is blank; expected a word or a label.")
    return values
