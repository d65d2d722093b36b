"""CoNLL files: one word a line in columns, blank lines between sentences -> words and tags, as they stand."""

import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.input_pipelines.delimited_files import require_columns
from kbert.input_pipelines.file_problems import FileProblems
from kbert.input_pipelines.text_lines import text_lines
from kbert.tasks.token_classification.tag_schemes import OUTSIDE, is_tag
from kbert.tasks.token_classification.word_column import LOOKED_AT, require_words

DOCUMENT_MARK = "-DOCSTART-"  # in the place of the word in the line before a document, in CoNLL-2003
_COMMENT = "#"
_LONG = 500  # words of a sentence that is likely to be several
_BLANK_LINES = (
    "A blank line ends a sentence: leave it out between the words of one (tr -d '\\r' < OLD > NEW where each "
    "line ends in two carriage returns, as Python's csv writes it on Windows)."
)
_CONLL_U = 10  # columns between tabs; lines with such a number are no words, but several or none
_NO_WORD = re.compile(r"[0-9]+[-.][0-9]+\t")
_HEADS_OF_WORDS = ("word", "words", "token", "tokens", "text", "form")
_NO_TAGS = frozenset("tag tags label labels ner".split())
# Without "ne", a tag of STTS: "Word" may be a name.
_HEADS_OF_TAGS = _NO_TAGS.union(
    "ner_tag ner_tags entity bio iob iob2 pos pos_tag pos_tags upos xpos class category".split()
)


class FileSentence(NamedTuple):
    """A sentence of a file.

    Args:
      words: its words.
      tags: the tag of each word, as the file has it; empty where they are not read.
      locations: where each word stands, for messages: file and line, or file and row.
      document: what tells its document from those before and after.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    locations: tuple[str, ...]
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

    Cells are separated by tabs if the first line of a word has one, else by spaces. With
    `dataset.column_names` the columns `dataset.text` and `dataset.label` are word and tag; without, the first
    and the last are, as is the custom. A line that begins with -DOCSTART-, or has it as its word, begins a
    document; sentences before the first such line are each a document of their own. Lines before the first
    word of a sentence that begin with # and are no word with a tag of the file are comments, and are passed
    over with a warning. So are the lines of CoNLL-U for several words (1-2) or none (1.1).

    Raises:
      ValueError: naming file and lines, for `column_names` without the label, another number of columns than
        there (or in the first line), a header, an empty word or tag, words that are none
        (`word_column.require_words`), bytes in another encoding, a file without sentences, and tagged
        sentences of one word each.
    """
    columns = _find_columns(path, dataset, with_tags)
    sentences = _read_sentences(path, dataset, columns, with_tags)
    if first := list(itertools.islice(sentences, LOOKED_AT)):
        require_words(first, columns.number, bool(dataset.column_names))
    sentences = itertools.chain(first, sentences)
    return require_several_words(sentences, path, _BLANK_LINES) if with_tags else sentences


def require_several_words(sentences: Iterable[FileSentence], path, advice: str) -> Iterator[FileSentence]:
    """The sentences. Raises ValueError after several of one word each, as no file of sentences has them."""
    number, longest = 0, 0
    for sentence in sentences:
        number, longest = number + 1, max(longest, len(sentence.words))
        yield sentence
    if number > 2 and longest == 1:
        raise ValueError(f"{path}: each of {number:,} sentences has one word. {advice}")


def _read_sentences(path, dataset, columns, with_tags):
    document, is_marked, is_empty = 0, False, True
    comments, problems = _Comments(path, dataset, columns), FileProblems(path)
    rows: list[tuple[str, str, str]] = []  # word, tag, where
    words: tuple[str, ...] = ()
    for number, line in _lines_and_an_end(path, dataset, problems):
        is_mark = _is_mark(line, columns)
        if line.strip(" \t") and not is_mark:
            if not comments.pass_over(line, number, bool(rows)):
                where = f"{path} line {number}"
                try:
                    cells = _cells(line, columns, where)
                    if not rows:
                        _require_no_header(cells, dataset, where, is_empty)
                    rows.append((cells[columns.word], cells[columns.tag], where))
                except ValueError as error:
                    problems.add(error)
            if problems.is_full:
                break
            continue
        if rows:
            words, tags, locations = zip(*rows, strict=True)
            is_empty = False
            if not problems:
                yield FileSentence(words, tags if with_tags else (), locations, document)
            document, rows = document + (not is_marked), []
        if is_mark:
            document, is_marked = document + 1, True
    problems.raise_all()
    comments.say()
    if document == 1 and not is_marked and len(words) > _LONG:
        warn_once(
            f"{path}: all {len(words):,} words are one sentence, because there is no blank line; put one "
            "between sentences."
        )
    if is_empty:
        raise ValueError(f"{path} holds no sentences; expected one word a line, in columns.")


class _Comments:
    """Tells comments from words of a file, and counts them."""

    def __init__(self, path, dataset, columns):
        self._path, self._dataset, self._columns = path, dataset, columns
        self._number, self._first = 0, ""
        self._tags: set[str] | None = None

    def pass_over(self, line, number, is_inside):
        """Whether a line is no word; `is_inside` a sentence a # always is one."""
        is_comment = line.startswith(_COMMENT) and not is_inside and not self._is_word(line)
        if is_comment:
            self._number += 1
            self._first = self._first or f"line {number}: {line[:60]!r}"
        return is_comment or (self._columns.number == _CONLL_U and bool(_NO_WORD.match(line)))

    def _is_word(self, line):
        """Whether a line has the columns of a word, and a tag that words of other lines have, or # itself."""
        cells = _cut(line, self._columns.separator)
        if len(cells) != self._columns.number or len(cells) == 1:
            return len(cells) == self._columns.number
        if self._tags is None:
            rows = (_cut(row, self._columns.separator) for row in _rows(self._path, self._dataset))
            self._tags = {row[self._columns.tag] for row in rows if len(row) == self._columns.number}
        word, tag = cells[self._columns.word], cells[self._columns.tag]
        return tag in (*self._tags, OUTSIDE, _COMMENT) or (word != _COMMENT and is_tag(tag))

    def say(self):
        if self._number:
            warn_once(
                f"{self._path}: {self._number:,} line(s) before sentences begin with {_COMMENT} and are "
                f"passed over as comments; the first is {self._first}"
            )


def _lines_and_an_end(path, dataset, problems):
    """(number, line) of a file, and a blank line to end the last sentence."""
    number = 0
    for number, line in enumerate(text_lines(path, dataset.encoding, problems), start=1):
        yield number, line.rstrip("\r\n")
    yield number + 1, ""


def _rows(path, dataset):
    """The lines of a file that are words without doubt."""
    lines = (line for _, line in _lines_and_an_end(path, dataset, FileProblems(path)))
    return (line for line in lines if line.strip(" \t") and not line.startswith((DOCUMENT_MARK, _COMMENT)))


def _find_columns(path, dataset, with_tags):
    line = next(_rows(path, dataset), "")
    separator = "\t" if "\t" in line else " "
    if names := list(dataset.column_names):
        problems, label = FileProblems(path), dataset.label if with_tags else None
        require_columns(names, path, list(filter(None, (dataset.text, label))), dataset, problems)
        problems.raise_all()
        return _Columns(
            separator, len(names), names.index(dataset.text), label_column(dataset), ", ".join(names)
        )
    number = max(len(_cut(line, separator)), 2 if with_tags else 1)
    return _Columns(separator, number, 0, number - 1, "the first is the word, the last its tag")


def label_column(dataset: DatasetConfig) -> int:
    """Where the label of a line is; the last cell, where `column_names` does not say it."""
    names = dataset.column_names
    return names.index(dataset.label) if dataset.label in names else len(names) - 1


def _is_mark(line, columns):
    """Whether a document begins; some copies of CoNLL-2003 have a number before the mark."""
    if DOCUMENT_MARK not in line:  # nearly always, and quicker
        return False
    words = _cut(line, columns.separator)[columns.word :]
    return line.startswith(DOCUMENT_MARK) or words[:1] == [DOCUMENT_MARK]


def _require_no_header(cells, dataset, where, is_first):
    """Raises ValueError for a line with the names of columns of words and of tags, whichever are read.
    Further down a word and its class may be written so, unless the name of the class is none."""
    tag_heads = (_HEADS_OF_TAGS if is_first else _NO_TAGS) | {dataset.label.lower()}
    heads = [cell.lower() for cell in cells]
    if {*heads} & {*_HEADS_OF_WORDS, dataset.text.lower()} and {*heads} & tag_heads:
        raise ValueError(
            f"{where} looks like a header ({', '.join(map(repr, cells))}); take the line out, or, for a file "
            "with a header, set dataset.sentence to the column that numbers its sentences."
        )


def _cells(line, columns, where):
    """The cells of a line with a word and a tag."""
    cells = _cut(line, columns.separator)
    if len(cells) != columns.number:
        kind = "tabs" if columns.separator == "\t" else "spaces"
        raise ValueError(
            f"{where}: {len(cells)} columns between {kind} where {columns.number} were expected "
            f"({columns.names})."
        )
    for name, cell in (("word", cells[columns.word]), ("tag", cells[columns.tag].strip())):
        if not cell:
            raise ValueError(f"{where} has an empty {name}; fix the line or leave the sentence out.")
    return cells


def _cut(line, separator):
    if separator == "\t":
        return [cell.strip(" ") or cell for cell in line.split("\t")]  # a word may be a blank, as in KLUE
    return [cell for cell in line.split(" ") if cell]  # no other white space: a word may hold it
