"""Corpus files -> units of work -> documents of lines. Standard library only.

Text is in the original's format: one sentence (or paragraph) per line, a blank line between documents; a new
file begins a new document. In JSON lines each object is a document, and the lines of its text field are its
sentences.
"""

import mmap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple

from kbert.extras import require
from kbert.files.compression import find_compression
from kbert.files.file_format import format_by_name
from kbert.files.json_file import parse_json
from kbert.files.text_file import LONGEST_LINE, Problem, has_line_feeds_as_bytes, numbered_lines
from kbert.input_pipelines.json_rows import AS_LINES, is_whole_json, json_type, text_problem
from tfrecords_tools.corpus.corpus_files import require_no_columns
from tfrecords_tools.corpus.problems import LineOfFile, Problems

# The languages for which sentencex 1.0.32 has its own rules. It accepts any other code as well, but treats it
# as English or as a related language. Chinese needs no list of abbreviations: its full stops are unambiguous.
LANGUAGES = tuple(
    "am ar bg bn ca da de el en es fi fr gu hi hy it ja kk kn ml mr my nl pa pl pt ru sk ta te uk zh".split()
)


# sentencex 1.0.32 assumes that white space after an initial is one byte long, and aborts where it is longer
# ("J.\xa0S."): it reads a copy with plain spaces, and tells where to cut the text itself.
_PLAIN_SPACES = {code: " " for code in range(0x80, 0x3001) if chr(code).isspace()}
_NO_OBJECT = "lines left out, no JSON object"
_LONGEST_DOCUMENT = 1 << 30  # bytes; its process needs several times as many


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
        if self.split_sentences:
            SentenceSplitter(self.split_sentences)


class Unit(NamedTuple):
    """A piece of work: the documents that begin in bytes [start, end) of a file; end -1: the file's end."""

    file: str
    start: int
    end: int

    @property
    def num_bytes(self) -> int:
        """On disk; how much text a compressed file holds is not known."""
        return self.end - self.start if self.end >= 0 else Path(self.file).stat().st_size


def require_text_field(text_field: str, files) -> None:
    """Raises ValueError for a `text_field` of its own where no file has fields: text files are read whole."""
    if text_field != TextFormat.text_field and not any(format_by_name(file) == "jsonl" for file in files):
        raise ValueError(
            f"text_field={text_field!r} names the field of a text in JSON lines, but no input file is one; "
            "leave it out."
        )


def plan_units(files, unit_bytes: int) -> list[Unit]:
    """Cuts files into units, in the order of the files. Depends on names and sizes only.

    Args:
      files: those that `input_files` returns. A compressed file makes one unit, as one in UTF-16 or UTF-32
        does, and an empty file none.
      unit_bytes: the size of a unit, for files that are not compressed.

    Raises:
      ValueError: as `require_no_columns`.
    """
    units = []
    for file in files:
        require_no_columns(file)
        size = Path(file).stat().st_size
        if find_compression(file) or not has_line_feeds_as_bytes(file):
            units += [Unit(str(file), 0, -1)] if size else []
        else:
            starts = range(0, size, unit_bytes)
            units += [Unit(str(file), start, min(start + unit_bytes, size)) for start in starts]
    return units


def read_documents(unit: Unit, text_format: TextFormat, problems: Problems) -> Iterator[list[bytes]]:
    """Yields the documents whose first byte lies in a unit.

    A unit reads past its end to finish its last document. So the units of a file together yield exactly the
    documents of the file, in order, wherever it is cut. Memory holds one document.

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
    if format_by_name(unit.file) == "jsonl":
        documents = _json_documents(unit, text_format, problems)
    else:
        documents = _text_documents(unit, text_format, problems)
    if not text_format.split_sentences:
        yield from documents
        return
    split = SentenceSplitter(text_format.split_sentences)
    for document in documents:
        yield [sentence for line in document for sentence in split(line)]


def read_unit_lines(unit: Unit, text_format: TextFormat, problems: Problems) -> Iterator[bytes]:
    """Yields the lines that begin in a unit, for callers that do not need whole documents.

    So text without a blank line is divided among units as well, and memory holds one line. In JSON lines an
    object belongs to the same unit as for `read_documents`. Arguments and errors are those of
    `read_documents`; sentences are not split.

    Yields:
      Non-empty UTF-8 lines, stripped.
    """
    if format_by_name(unit.file) == "jsonl":
        for document in _json_documents(unit, text_format, problems):
            yield from document
        return
    for _, line in _unit_lines(unit, _reporter(unit, text_format, problems)):
        yield line.encode("utf-8")


def _text_documents(unit, text_format, problems) -> Iterator[list[bytes]]:
    # Reading begins with the line that holds the byte before the unit: if that line is blank, a new document
    # begins with the unit; otherwise the unit may begin in the middle of a document.
    first_byte = _line_start(unit.file, unit.start - 1)
    report = _reporter(unit, text_format, problems, first_byte)
    document, held = [], 0
    is_ours = None  # whether the document of this line begins in the unit; None between documents
    for number, offset, line in numbered_lines(unit.file, first_byte):
        line = line if isinstance(line, Problem) else line.strip()
        if not line:
            if document:
                yield document
                document, held = [], 0
            is_ours = None
            continue
        if not is_ours:
            if offset >= unit.end >= 0:
                return
            if is_ours is None:
                is_ours = offset >= unit.start
            if not is_ours:
                continue
        if isinstance(line, Problem):
            # The line is left out but is not blank: it does not end a document or move its beginning.
            report(number, line)
        else:
            document.append(line.encode("utf-8"))
            held += len(document[-1])
            if held > _LONGEST_DOCUMENT:
                raise ValueError(
                    f"{LineOfFile(unit.file, first_byte, number)}: no blank line in {held >> 20:,} MiB "
                    "before it. A blank line ends a document, which memory holds: put one between the texts, "
                    "for example with sed G OLD > NEW where each line is one."
                )
    if document:
        yield document


def _json_documents(unit, text_format, problems) -> Iterator[list[bytes]]:
    report = _reporter(unit, text_format, problems)
    for number, line in _unit_lines(unit, report):
        text = _parse_object(line, number, text_format.text_field)
        if isinstance(text, Problem):
            report(number, text)
        elif document := [line.encode("utf-8") for line in map(str.strip, text.split("\n")) if line]:
            yield document


def _unit_lines(unit, report) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines that begin in a unit, stripped; blank ones are left out."""
    for number, offset, line in numbered_lines(unit.file, _line_start(unit.file, unit.start)):
        if offset >= unit.end >= 0:
            return
        if offset < unit.start:
            continue
        if isinstance(line, Problem):
            report(number, line)
        elif line := line.strip():
            yield number, line


def _reporter(unit, text_format, problems, first_byte=None):
    """Returns a function of (line number from `first_byte` on, problem), which raises or collects it."""
    first_byte = _line_start(unit.file, unit.start) if first_byte is None else first_byte

    def report(number, problem):
        line = LineOfFile(unit.file, first_byte, number)
        if text_format.errors == "fail":
            raise ValueError(f"{line} {problem.what}; {problem.remedy}, or leave it out with --errors=skip.")
        problems.add(line, problem)

    return report


def _line_start(path, position: int) -> int:
    """The byte where the line begins to which the byte at `position` belongs. A line feed ends its line.

    Of a line that begins more than LONGEST_LINE before, a byte in its middle: it is too long from there, too.
    """
    if position <= 0:
        return 0
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        earliest = max(0, position - LONGEST_LINE - 1)
        line_feed = content.rfind(b"\n", earliest, position)
    return earliest if line_feed < 0 else line_feed + 1


def _parse_object(line, number, text_field) -> str | Problem:
    if line.startswith("[") and is_whole_json(line, number):
        return Problem(_NO_OBJECT, "is of one JSON value over all lines", AS_LINES.rstrip("."))
    try:
        fields = parse_json(line, "")
    except ValueError as error:
        return _not_an_object(str(error).strip(" ."))
    if not isinstance(fields, dict):
        return _not_an_object(f"holds a JSON {json_type(fields)}, not an object")
    what = text_problem(fields, text_field)
    if not what:
        return fields[text_field]
    kind, remedy = "lines left out, no text in the JSON object", "name the field of the text by --text_field"
    if isinstance(fields.get(text_field), str):
        kind, remedy = "lines left out, text that has no UTF-8", "write the file again as valid Unicode"
    return Problem(kind, what, remedy)


def _not_an_object(what) -> Problem:
    remedy = "a file of JSON lines has one object per line, with the text in one of its fields"
    return Problem(_NO_OBJECT, what, remedy)


# ------------------------------------------------------------------------------ sentences


class SentenceSplitter:
    """Cuts a line into sentences.

    Args:
      language: one of `LANGUAGES`.

    Call arguments:
      line: UTF-8.

    Returns:
      A list of non-empty UTF-8 sentences, stripped. Joined, they equal the line except for white space
      between sentences.

    Raises:
      ValueError: when the language is not known, or sentencex is not installed.

    Examples:
      SentenceSplitter("en")(b"Dr. Smith came. He sat down.")  # [b"Dr. Smith came.", b"He sat down."]

    Reference:
      https://github.com/wikimedia/sentencex
    """

    def __init__(self, language: str):
        if language not in LANGUAGES:
            raise ValueError(
                f"split_sentences={language!r} is no language with known sentence rules; choose one of "
                f"{', '.join(LANGUAGES)} (a closely related language is often good enough)."
            )
        require("sentences", f"split_sentences={language!r}")
        from sentencex import segment

        self._language = language
        self._segment = segment

    def __call__(self, line: bytes) -> list[bytes]:
        text = line.decode("utf-8")
        lengths = map(len, self._segment(self._language, text.translate(_PLAIN_SPACES)))
        sentences = (text[start:end].strip() for start, end in pairwise(accumulate(lengths, initial=0)))
        return [sentence.encode("utf-8") for sentence in sentences if sentence]
