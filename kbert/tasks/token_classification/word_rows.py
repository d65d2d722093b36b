"""Tables of words, a word in each row, or a sentence in each -> words and tags, as they stand."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.input_pipelines.data_in_memory import is_missing
from kbert.input_pipelines.json_rows import require_column, text_problem
from kbert.input_pipelines.label_lists import begins_a_list, listed_in_text, listed_words, seems_listed
from kbert.input_pipelines.labelled_files import stream_examples, text_cell
from kbert.input_pipelines.labels import LEAVE_OUT, NO_VALUE, NoLabel
from kbert.tasks.token_classification.conll_files import FileSentence, require_several_words

_EMPTY = NO_VALUE | {""}
WORD_ROWS = "For a word in each row, set dataset.sentence to the column that numbers sentences."


def read_word_rows(
    path: str | Path, dataset: DatasetConfig, with_tags: bool = True
) -> Iterator[FileSentence]:
    """Yields the sentences of a file with named columns and a word in each row.

    `dataset.text` is the column of the word, `dataset.label` that of its tag, and `dataset.sentence` tells
    the sentence, `dataset.document` its document: they are the same in all rows of one, or stand in the first
    of them alone. A warning counts sentences whose rows do not stand together.

    Raises:
      ValueError: naming file and line, as `stream_records` does, and for a word or tag that is no text.
    """
    columns = (dataset.text, dataset.sentence, dataset.label if with_tags else None, dataset.document)
    keys = tuple(filter(None, (dataset.document, dataset.sentence)))
    unnamed, first = 0, ("", "")

    def read(record, tag, where):
        nonlocal unnamed, first
        for column in keys:
            require_column(record, column, where)
        document = record[dataset.document] if dataset.document else None
        if isinstance(document, str) and document.strip() in NO_VALUE:
            unnamed, first = unnamed + 1, first if unnamed else (document, where)
        return [record[column] for column in keys], _word(record, dataset.text, where), tag, where

    rows = stream_examples(path, dataset, columns, read, with_tags, _tag if with_tags else None)
    seen, again = set(), []
    for number, (key, group) in enumerate(itertools.groupby(_filled_down(rows), key=lambda row: row[0])):
        _, words, tags, locations = zip(*group, strict=True)
        if repr(key) in seen:
            again.append(locations[0])
        seen.add(repr(key))
        document = repr(key[0]) if dataset.document else number
        yield FileSentence(words, tags if with_tags else (), locations, document)
    if unnamed:
        warn_once(
            f"{path}: {unnamed:,} row(s) have {first[0]!r} or the like in {dataset.document!r}, the first "
            f"{first[1]}: they are read as empty, so as of the document above. If one is called so, give it "
            "another name."
        )
    if again:
        warn_once(
            f"{again[0]}: a sentence goes on whose rows ended before, or another has its number, as "
            f"{len(again):,} have; they are read as sentences of their own. Sort the rows by sentence; where "
            "each document counts from 1, set dataset.document."
        )


def read_sentence_rows(
    path: str | Path, dataset: DatasetConfig, with_tags: bool = True
) -> Iterator[FileSentence]:
    """Yields the sentences of a file with named columns and a sentence in each row.

    A cell holds words, or tags, between blanks, or as a list that Python, JSON or NumPy printed. Words in a
    list stand in quotation marks: `(2019)` is a word itself, and `['EU', nan]` is refused.

    Raises:
      ValueError: naming file and line, as `stream_records` does, for other numbers of words and tags, and
        where no row has two words.
    """
    columns = (dataset.text, dataset.label if with_tags else None, dataset.document)

    def read(record, tags, where):
        return cell_sentence(record, tags, dataset, where)

    rows = stream_examples(path, dataset, columns, read, with_tags, cell_tags if with_tags else None)
    return require_several_words(rows, path, WORD_ROWS) if with_tags else rows


def cell_sentence(
    record: dict, tags: tuple[str, ...] | None, dataset: DatasetConfig, where: str
) -> FileSentence:
    """The sentence of a row, whose words stand in one cell, as `read_sentence_rows` says.

    Raises:
      ValueError: for other numbers of words and tags.
    """
    words = _entries(record, dataset.text, where, listed_words, begins_a_list)
    if tags is not None and len(words) != len(tags):  # None too where the tags are wrong
        raise ValueError(
            f"{where} has {len(words)} words in {dataset.text!r} but {len(tags)} tags in "
            f"{dataset.label!r}; expected both between blanks or as lists, or a word in each row and "
            "dataset.sentence, the column that numbers sentences."
        )
    return FileSentence(words, tags or (), (where,) * len(words), read_document(record, dataset, where))


def read_document(record, dataset: DatasetConfig, where: str) -> str:
    """What tells the document of a row's sentence: one of its own where nothing stands in the column.

    Raises:
      ValueError: for a row without the column.
    """
    if dataset.document is None:
        return where
    require_column(record, dataset.document, where)
    document = record[dataset.document]
    return where if is_missing(document) or not str(document).strip() else repr(document)


def _word(record, column, where):
    word = text_cell(record, column, where)
    if "\n" in word:
        raise ValueError(
            f"{where} has a word with line ends in it, {word[:80]!r}: a quotation mark opens a cell there; "
            'one that is a word itself is written """" in CSV.'
        )
    return word


def cell_tags(record: dict, dataset: DatasetConfig, where: str) -> tuple[str, ...]:
    """The tags of a row, which stand in one cell."""
    if not text_cell(record, dataset.label, where).strip():
        raise NoLabel(f"{where} has no labels in {dataset.label!r}; give it some, {LEAVE_OUT}")
    return _entries(record, dataset.label, where, listed_in_text, _tags_seem_listed)


def _tags_seem_listed(cell):
    tags = cell.split()
    return tags[0] not in ("[", "{") and seems_listed(cell, tags)  # which are tags of brackets


def _entries(record, column, where, read_list, seems_a_list):
    cell = text_cell(record, column, where)
    listed = read_list(cell)
    if listed is None and seems_a_list(cell):
        raise ValueError(
            f"{where} has {cell[:80]!r} in {column!r}, which looks like a list, but its entries are not all "
            "in quotes; put each in quotes, or write all between blanks, without brackets."
        )
    entries = tuple(cell.split() if listed is None else listed)
    if why := text_problem({column: "".join(entries)}, column):
        raise ValueError(f"{where} {why}; fix the row or leave it out.")
    if not entries or not all(entry.strip() for entry in entries):
        raise ValueError(
            f"{where} has nothing, or an empty entry, in {column!r}; fix the row or leave it out."
        )
    return entries


def _filled_down(rows):
    """The rows, each with what tells its sentence; an empty cell is that of the row above."""
    last: list = []
    for values, *row in rows:
        last = [
            above if is_missing(value) or (isinstance(value, str) and value.strip() in _EMPTY) else value
            for value, above in itertools.zip_longest(values, last)
        ]
        yield last, *row


def _tag(record, dataset, where):
    tag = text_cell(record, dataset.label, where)
    if not tag.strip():
        raise ValueError(f"{where} has no tag in column {dataset.label!r}; fix the row.")
    return tag
