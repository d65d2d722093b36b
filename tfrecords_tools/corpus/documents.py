"""Corpus files -> units of work -> documents of lines. Standard library only.

Text is in the original's format: one sentence (or paragraph) per line, a blank line between documents; a new
file begins a new document. In JSON lines each object is a document, and the lines of its text field are its
sentences.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kbert.files.json_file import parse_json
from kbert.input_pipelines.json_rows import name_of, why_no_text
from tfrecords_tools.corpus.corpus_files import input_files, is_compressed, is_json_lines
from tfrecords_tools.corpus.problems import LineOfFile, Problem, Problems
from tfrecords_tools.corpus.sentence_splitter import SentenceSplitter
from tfrecords_tools.corpus.text_lines import read_line_blocks, start_of_line, strip, why_left_out

__all__ = [
    "Problems",
    "TextFormat",
    "Unit",
    "input_files",
    "plan_units",
    "read_documents",
    "read_lines_of_unit",
]


@dataclass(frozen=True)
class TextFormat:
    """How to read a corpus.

    Attributes:
      text_field: the key of an object's text in JSON lines.
      split_sentences: a language code, such as "en", whose rules cut every line into sentences; or empty.
      errors: "fail" stops at the first line that cannot be read, "skip" leaves it out and counts it.
    """

    text_field: str = "text"
    split_sentences: str = ""
    errors: str = "fail"

    def __post_init__(self):
        if not self.text_field:
            raise ValueError("text_field is empty; name the field of the JSON objects that holds the text.")
        if self.errors not in ("fail", "skip"):
            raise ValueError(f"errors={self.errors!r} is unknown; choose 'fail' or 'skip'.")
        if self.split_sentences:
            SentenceSplitter(self.split_sentences)


class Unit(NamedTuple):
    """A piece of work: the documents that begin in bytes [start, end) of a file; end -1: the file's end."""

    file: str
    start: int
    end: int


def plan_units(files, unit_bytes: int) -> list[Unit]:
    """Cuts files into units, in the order of the files. Depends on names and sizes only.

    Args:
      files: those that `input_files` returns. A compressed file makes one unit, an empty file none.
      unit_bytes: the size of a unit, for files that are not compressed.
    """
    units = []
    for file in files:
        size = Path(file).stat().st_size
        if is_compressed(file):
            units += [Unit(str(file), 0, -1)] if size else []
        else:
            starts = range(0, size, unit_bytes)
            units += [Unit(str(file), start, min(start + unit_bytes, size)) for start in starts]
    return units


def read_documents(unit: Unit, text_format: TextFormat, problems: Problems) -> Iterator[list[bytes]]:
    """Yields the documents whose first byte lies in a unit.

    A unit reads past its end to finish its last document. So the units of a file together yield exactly the
    documents of the file, in order, wherever it is cut. Memory holds one document and one chunk of the file.

    Args:
      unit: which documents.
      text_format: how to read them.
      problems: collects what was left out, with `errors="skip"`. Of a damaged compressed file, the whole
        lines before the damage are kept.

    Yields:
      A non-empty list of non-empty UTF-8 lines, stripped as `str.strip` does it.

    Raises:
      ValueError: with `errors="fail"`, naming file and line of what cannot be read.
    """
    # Reading begins with the line that holds the byte before the unit: if that line is blank, a new document
    # begins with the unit; otherwise the unit may begin in the middle of a document.
    first_byte = start_of_line(unit.file, unit.start - 1)
    report = _reporter(unit.file, first_byte, text_format, problems)
    blocks = read_line_blocks(unit.file, first_byte, report)
    end = unit.end if unit.end >= 0 else float("inf")
    if is_json_lines(unit.file):
        documents = _json_documents(blocks, unit.start, end, text_format.text_field, report)
    else:
        documents = _text_documents(blocks, unit.start, end, report)
    if not text_format.split_sentences:
        yield from documents
        return
    split = SentenceSplitter(text_format.split_sentences)
    for document in documents:
        yield [sentence for line in document for sentence in split(line)]


def read_lines_of_unit(unit: Unit, text_format: TextFormat, problems: Problems) -> Iterator[list[bytes]]:
    """Yields the lines that begin in a unit, for callers that do not need whole documents.

    So text without a blank line is divided among units as well, and memory holds only a part of a document.
    In JSON lines an object belongs to the same unit as for `read_documents`. Arguments and errors are those
    of `read_documents`; sentences are not split.

    Yields:
      Lists of non-empty UTF-8 lines, stripped.
    """
    first_byte = start_of_line(unit.file, unit.start)
    report = _reporter(unit.file, first_byte, text_format, problems)
    blocks = read_line_blocks(unit.file, first_byte, report)
    end = unit.end if unit.end >= 0 else float("inf")
    if is_json_lines(unit.file):
        yield from _json_documents(blocks, unit.start, end, text_format.text_field, report)
        return
    for block in blocks:
        first, past_last = block.index_at(unit.start), block.index_at(end)
        for index in range(first, past_last):
            if block.stripped[index] is None:
                report(block.number + index, why_left_out(block.raw[index]))
        if lines := [line for line in block.stripped[first:past_last] if line]:
            yield lines
        if past_last < len(block.raw):
            return


def _reporter(file, first_byte, text_format, problems):
    """Returns a function of (line number from `first_byte` on, problem), which raises or collects it."""

    def report(number, problem):
        place = LineOfFile(file, first_byte, number)
        if text_format.errors == "fail":
            raise ValueError(f"{place} {problem.what}; {problem.remedy}, or leave it out with --errors=skip.")
        problems.add(place, problem)

    return report


# ------------------------------------------------------------------------------ documents from lines


def _text_documents(blocks, start, end, report) -> Iterator[list[bytes]]:
    document = []
    is_ours = None  # whether the document of this line begins in [start, end); None between documents
    for block in blocks:
        first, past_last = block.index_at(start), block.index_at(end)
        for index, line in enumerate(block.stripped):
            if line == b"":
                if document:
                    yield document
                    document = []
                is_ours = None
                continue
            if not is_ours:
                if index >= past_last:
                    return
                if is_ours is None:
                    is_ours = index >= first
                if not is_ours:
                    continue
            if line is not None:
                document.append(line)
            else:
                # The line is left out but is not blank: it does not end a document or move its beginning.
                report(block.number + index, why_left_out(block.raw[index]))
    if document:
        yield document


def _json_documents(blocks, start, end, text_field, report) -> Iterator[list[bytes]]:
    for block in blocks:
        first, past_last = block.index_at(start), block.index_at(end)
        for index in range(first, past_last):
            line = block.stripped[index]
            if line is None:
                report(block.number + index, why_left_out(block.raw[index]))
            elif line:
                text = _text_of_object(line, text_field)
                if isinstance(text, Problem):
                    report(block.number + index, text)
                elif document := [stripped for part in text.split(b"\n") if (stripped := strip(part))]:
                    yield document
        if past_last < len(block.raw):
            return


def _text_of_object(line, text_field) -> bytes | Problem:
    try:
        fields = parse_json(line, "")
    except ValueError as error:
        return _not_an_object(str(error).strip(" ."))
    if not isinstance(fields, dict):
        return _not_an_object(f"holds a JSON {name_of(fields)}, not an object")
    text = fields.get(text_field)
    if isinstance(text, str):
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            kind, remedy = "lines left out, text that has no UTF-8", "write the file again as valid Unicode"
    else:
        kind, remedy = "lines left out, no text in the JSON object", "name the field that holds the text"
    return Problem(kind, str(why_no_text(fields, text_field)), remedy)


def _not_an_object(what) -> Problem:
    remedy = "a .json, .jsonl or .ndjson file has one object per line, with the text in one of its fields"
    return Problem("lines left out, no JSON object", what, remedy)
