"""Which format a file has, by its name and its first bytes. Standard library only."""

import contextlib
import zipfile
from pathlib import Path

from kbert.files.compression import find_compression, name_when_unpacked

JSON_LINES = (".jsonl", ".ndjson", ".json")  # every set of endings for JSON lines is this one
TABLES = ("parquet", "arrow")  # they hold their columns packed, so another packing around them is not read
_FORMATS = {".tsv": "tsv", ".csv": "csv"} | dict.fromkeys(JSON_LINES, "jsonl")
_LONGEST_MARK = 64  # bytes that are looked at

# How a file begins that is no text: what it is, and what to do with it.
_MARKS = (
    (b"PAR1", "parquet", 'name it .parquet, or set dataset.file_format="parquet"'),
    (b"ARROW1", "an Arrow file", 'name it .arrow, or set dataset.file_format="arrow"'),
    (b"\x1f\x8b", "packed by gzip", "end its name in .gz"),
    (b"BZh", "packed by bzip2", "end its name in .bz2"),
    (b"\xfd7zXZ\x00", "packed by xz", "end its name in .xz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "end its name in .zst"),
    (
        b"\xd0\xcf\x11\xe0",
        "a file of an old Excel or Word (.xls, .doc)",
        'open it there and save it as "CSV UTF-8", or as plain text',
    ),
    (b"%PDF", "a PDF", "take the text out of it, for example with pdftotext"),
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", "get the file: git lfs pull"),
    (b"<!doctype html", "a page of the web (HTML)", "download the file itself, or take the text out of it"),
    (b"<html", "a page of the web (HTML)", "download the file itself, or take the text out of it"),
)
_ZIP = b"PK\x03\x04"
# A name that such an archive holds -> what it is, and what to do with it.
_ARCHIVES = {
    "xl/workbook.xml": (
        "an Excel workbook (.xlsx)",
        'save the sheet as "CSV UTF-8", or: pandas.read_excel(path).to_csv("rows.csv", index=False)',
    ),
    "word/document.xml": ("a Word document (.docx)", "save it as plain text in UTF-8"),
    "content.xml": (
        "an OpenDocument file (.ods, .odt)",
        "save the sheet as CSV in UTF-8, or the document as plain text",
    ),
}


def format_by_name(path: str | Path) -> str | None:
    """ "tsv", "csv", "jsonl", "parquet" or "arrow": what the name ends in, compressed or not.

    None for any other name. ValueError as `find_compression` raises it.
    """
    path = Path(path)
    table = path.suffix.lower().removeprefix(".")
    return table if table in TABLES else _FORMATS.get(Path(name_when_unpacked(path)).suffix)


def is_json_lines(path: str | Path) -> bool:
    """Whether the name, without the ending of a compression, ends in `.jsonl`, `.ndjson` or `.json`."""
    return format_by_name(path) == "jsonl"


def require_text_content(path: str | Path, what: str):
    """Refuses a file that is no text by its first bytes, whatever its name says.

    Args:
      path: a file; one whose name says a compression is not looked into.
      what: what is expected instead, for the message, for example "text".

    Raises:
      ValueError: naming the file, what it is, and how to make a text of it.
    """
    path = Path(path)
    if find_compression(path) or not path.is_file():
        return
    with path.open("rb") as file:
        beginning = file.read(_LONGEST_MARK)
    foreign = _archive(path) if beginning.startswith(_ZIP) else _marked(beginning)
    if foreign:
        kind, remedy = foreign
        raise ValueError(f"{path} is {kind}, by its first bytes; expected {what}: {remedy}.")


def _marked(beginning):
    lowered = beginning.lower()
    return next(
        (rest for mark, *rest in _MARKS if beginning.startswith(mark) or lowered.startswith(mark)), None
    )


def _archive(path):
    names: list[str] = []
    with contextlib.suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    known = next((what for name, what in _ARCHIVES.items() if name in names), None)
    return known or ("a zip archive", f"unpack it first; it holds {', '.join(names[:5])[:200] or 'no files'}")
