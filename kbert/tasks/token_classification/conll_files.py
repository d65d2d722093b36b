"""CoNLL files: one word a line in columns, blank lines between sentences -> words and tags, as they stand."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kbert.config import DatasetConfig
from kbert.files.text_file import read_lines

DOCUMENT_MARK = "-DOCSTART-"  # the first column of the line before a document, in CoNLL-2003


class FileSentence(NamedTuple):
    """A sentence of a file.

    Args:
      words: its words.
      tags: the tag of each word, as the file has it; empty where they are not read.
      places: where each word stands, for messages: file and line, or file and row.
      document: what tells its document from those before and after.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    places: tuple[str, ...]
    document: int | str


class _Columns(NamedTuple):
    """Where the cells of a file are: how lines are cut, how many cells there are, and which two count."""

    separator: str
    number: int
    word: int
    tag: int
    names: str


def read_conll(path: str | Path, dataset: DatasetConfig, with_tags: bool = True) -> Iterator[FileSentence]:
    """Yields the sentences of a file.

    Cells are separated by tabs if the first line has one, else by spaces. With `dataset.column_names` the
    columns `dataset.text` and `dataset.label` are word and tag; without, the first and the last are, as is
    the custom. A line that begins with -DOCSTART- begins a document; sentences before the first such line
    are each a document of their own.

    Raises:
      ValueError: naming file and line, for another number of columns than in the first line (or in
        `column_names`), an empty word or tag, bytes that are not UTF-8, and a file without sentences.
    """
    columns, document, is_marked, is_empty = None, 0, False, True
    rows: list[tuple[str, str, str]] = []  # word, tag, place
    for number, line in _lines_and_an_end(path):
        line = line.rstrip("\r")
        is_mark = line.startswith(DOCUMENT_MARK)
        if line.strip(" \t") and not is_mark:
            columns = columns or _find_columns(line, dataset, with_tags)
            place = f"{path} line {number}"
            rows.append((*_cells(line, columns, place), place))
            continue
        if rows:
            is_empty = False
            words, tags, places = zip(*rows, strict=True)
            yield FileSentence(words, tags if with_tags else (), places, document)
            document, rows = document + (not is_marked), []
        if is_mark:
            document, is_marked = document + 1, True
    if is_empty:
        raise ValueError(f"{path} holds no sentences; expected one word a line, in columns.")


def _lines_and_an_end(path):
    """(number, line) of a file, and a blank line to end the last sentence."""
    number = 0
    for number, line in enumerate(read_lines(path), start=1):
        yield number, line
    yield number + 1, ""


def _find_columns(line, dataset, with_tags):
    separator = "\t" if "\t" in line else " "
    names: Sequence[str] = dataset.column_names
    if names:
        shown = ", ".join(names)
        return _Columns(separator, len(names), names.index(dataset.text), names.index(dataset.label), shown)
    number = max(len(_cut(line, separator)), 2 if with_tags else 1)
    return _Columns(separator, number, 0, number - 1, "the first is the word, the last its tag")


def _cells(line, columns, place):
    """(word, tag) of a line."""
    cells = _cut(line, columns.separator)
    if len(cells) != columns.number:
        kind = "tabs" if columns.separator == "\t" else "spaces"
        raise ValueError(
            f"{place}: {len(cells)} columns between {kind} where {columns.number} were expected "
            f"({columns.names})."
        )
    word, tag = cells[columns.word], cells[columns.tag]
    for name, cell in (("word", word), ("tag", tag)):
        if not cell.strip():
            raise ValueError(f"{place} has an empty {name}; mend the line or leave the sentence out.")
    return word, tag


def _cut(line, separator):
    if separator == "\t":
        return line.split("\t")
    return [cell for cell in line.split(" ") if cell]  # no other white space: a word may hold it
