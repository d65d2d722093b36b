"""Tables of words, a word in each row, or a sentence in each -> words and tags, as they stand."""

import itertools
from collections.abc import Iterator
from pathlib import Path

from kbert.config import DatasetConfig
from kbert.input_pipelines.json_rows import require_column
from kbert.input_pipelines.label_lists import listed_in_text
from kbert.input_pipelines.labelled_files import stream_records, text_cell
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
    records = stream_records(path, dataset, columns, with_tags)
    numbered = ((_number(record, dataset, where), where, record) for where, record in records)
    for number, (_, group) in enumerate(itertools.groupby(_filled_down(numbered), key=lambda row: row[0])):
        rows = [(where, record) for _, where, record in group]
        words = tuple(text_cell(record, dataset.text, where) for where, record in rows)
        tags = tuple(_tag(record, dataset, where) for where, record in rows) if with_tags else ()
        document = repr(rows[0][1][dataset.document]) if dataset.document else number
        yield FileSentence(words, tags, tuple(where for where, _ in rows), document)


def read_sentence_rows(
    path: str | Path, dataset: DatasetConfig, with_tags: bool = True
) -> Iterator[FileSentence]:
    """Yields the sentences of a file with named columns and a sentence in each row.

    A cell holds words, or tags, between blanks, or as a list that Python, JSON or NumPy printed.

    Raises:
      ValueError: naming file and line, as `stream_records` does, and for other numbers of words and tags.
    """
    columns = (dataset.text, dataset.label if with_tags else None, dataset.document)
    for where, record in stream_records(path, dataset, columns, with_tags):
        words = _entries(record, dataset.text, where)
        tags = _entries(record, dataset.label, where) if with_tags else ()
        if with_tags and len(words) != len(tags):
            raise ValueError(
                f"{where} has {len(words)} words in {dataset.text!r} but {len(tags)} tags in "
                f"{dataset.label!r}; expected both between blanks or as lists, or a word in each row and "
                "dataset.sentence, the column that numbers sentences."
            )
        document = repr(record[dataset.document]) if dataset.document else where
        yield FileSentence(words, tags, (where,) * len(words), document)


def _entries(record, column, where):
    cell = text_cell(record, column, where)
    listed = listed_in_text(cell)
    entries = tuple(cell.split() if listed is None else listed)
    if not entries or not all(entry.strip() for entry in entries):
        raise ValueError(
            f"{where} has nothing, or an empty entry, in {column!r}; mend the row or leave it out."
        )
    return entries


def _number(record, dataset, where):
    """What tells the sentence of a row; None where it is that of the row above."""
    require_column(record, dataset.sentence, where)
    value = record[dataset.sentence]
    is_empty = value is None or value != value or (isinstance(value, str) and not value.strip())
    return None if is_empty else value


def _filled_down(numbered):
    last = None
    for value, where, record in numbered:
        last = last if value is None else value
        yield last, where, record


def _tag(record, dataset, where):
    tag = text_cell(record, dataset.label, where)
    if not tag.strip():
        raise ValueError(f"{where} has no tag in column {dataset.label!r}; mend the row.")
    return tag
