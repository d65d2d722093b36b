"""Tables of words, a word in each row, or a sentence in each -> words and tags, as they stand."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from kbert.config import DatasetConfig
from kbert.input_pipelines.json_rows import require_column
from kbert.input_pipelines.label_lists import listed_in_text
from kbert.input_pipelines.labelled_files import stream_examples, text_cell
from kbert.tasks.token_classification.conll_files import FileSentence


def read_word_rows(
    path: str | Path, dataset: DatasetConfig, with_tags: bool = True
) -> Iterator[FileSentence]:
    """Yields the sentences of a file with named columns and a word in each row.

    `dataset.text` is the column of the word, `dataset.label` that of its tag, and `dataset.sentence` tells
    the sentence: it is the same in all rows of one, or stands in the first of them alone.

    Raises:
      ValueError: naming file and line, as `stream_records` does, and for a word or tag that is no text.
    """
    columns = (dataset.text, dataset.sentence, dataset.label if with_tags else None, dataset.document)

    def read(record, tag, where):
        require_column(record, dataset.sentence, where)
        document = repr(record[dataset.document]) if dataset.document else None
        return record[dataset.sentence], text_cell(record, dataset.text, where), tag, where, document

    rows = stream_examples(path, dataset, columns, read, with_tags, _tag if with_tags else None)
    for number, (_, group) in enumerate(itertools.groupby(_filled_down(rows), key=lambda row: row[0])):
        _, words, tags, locations, documents = zip(*group, strict=True)
        yield FileSentence(words, tags if with_tags else (), locations, documents[0] or number)


def read_sentence_rows(
    path: str | Path, dataset: DatasetConfig, with_tags: bool = True
) -> Iterator[FileSentence]:
    """Yields the sentences of a file with named columns and a sentence in each row.

    A cell holds words, or tags, between blanks, or as a list that Python, JSON or NumPy printed.

    Raises:
      ValueError: naming file and line, as `stream_records` does, and for other numbers of words and tags.
    """
    columns = (dataset.text, dataset.label if with_tags else None, dataset.document)

    def read(record, tags, where):
        words = _entries(record, dataset.text, where)
        if with_tags and len(words) != len(tags):
            raise ValueError(
                f"{where} has {len(words)} words in {dataset.text!r} but {len(tags)} tags in "
                f"{dataset.label!r}; expected both between blanks or as lists, or a word in each row and "
                "dataset.sentence, the column that numbers sentences."
            )
        document = repr(record[dataset.document]) if dataset.document else where
        return FileSentence(words, tags or (), (where,) * len(words), document)

    return stream_examples(path, dataset, columns, read, with_tags, _tags if with_tags else None)


def _tags(record, dataset, where):
    return _entries(record, dataset.label, where)


def _entries(record, column, where):
    cell = text_cell(record, column, where)
    listed = listed_in_text(cell)
    entries = tuple(cell.split() if listed is None else listed)
    if not entries or not all(entry.strip() for entry in entries):
        raise ValueError(
            f"{where} has nothing, or an empty entry, in {column!r}; mend the row or leave it out."
        )
    return entries


def _filled_down(rows):
    """The rows, each with what tells its sentence; an empty cell is that of the row above."""
    last = None
    for value, *row in rows:
        is_empty = value is None or value != value or (isinstance(value, str) and not value.strip())
        last = last if is_empty else value
        yield last, *row


def _tag(record, dataset, where):
    tag = text_cell(record, dataset.label, where)
    if not tag.strip():
        raise ValueError(f"{where} has no tag in column {dataset.label!r}; mend the row.")
    return tag
