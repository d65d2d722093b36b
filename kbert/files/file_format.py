"""Which format a file has, by its name and its first bytes. Standard library only."""

import codecs
import contextlib
import os
import zipfile
from pathlib import Path
from typing import Literal, NamedTuple

from kbert.files.compression import beginning, find_compression, name_when_unpacked
from kbert.files.output_path import is_remote

FileFormat = Literal["tsv", "csv", "jsonl", "parquet", "arrow"]


class RowFormat(NamedTuple):
    """A format of rows.

    `endings` are those of names of its files, alone or before that of a compression. With `has_header` the
    names of columns are known before the rows: other files hold a text in each line, or name their values in
    each row. With `has_values` a cell may be a number, a list, or nothing, as in JSON; else it is a text.
    `delimiter` stands between cells by custom. A `mark` is how files of a table begin: these hold their
    columns packed, so another packing around them is not read.
    """

    endings: tuple[str, ...]
    has_header: bool = True
    has_values: bool = False
    delimiter: str = ""
    mark: bytes = b""


FORMATS: dict[str, RowFormat] = {
    "tsv": RowFormat((".tsv", ".tab"), delimiter="\t"),
    "csv": RowFormat((".csv",), delimiter=","),
    "jsonl": RowFormat((".jsonl", ".ndjson", ".jsonlines", ".json"), has_header=False, has_values=True),
    "parquet": RowFormat((".parquet",), has_values=True, mark=b"PAR1"),
    "arrow": RowFormat((".arrow",), has_values=True, mark=b"ARROW1"),
}
ENDINGS = {ending: name for name, row_format in FORMATS.items() for ending in row_format.endings}
DELIMITED = tuple(name for name, row_format in FORMATS.items() if row_format.delimiter)
TABLES = {name: row_format.mark for name, row_format in FORMATS.items() if row_format.mark}
# Refused by their names: read as text, they would only give an error about UTF-8.
_UNREAD = {*".7z .br .lz4 .lzma .rar .tar .tbz2 .tgz .txz .z .zip".split(), *(f".{name}" for name in TABLES)}
_ARROW_STREAM = b"\xff\xff\xff\xff"  # how a file begins that `datasets` wrote
_HEAD = 512  # bytes that are looked at: the first block of a tar archive

_POINTER = ("a pointer of Git LFS, not the file itself", "get the file: git lfs pull")
_PAGE = ("a page of the web (HTML)", "download the file itself, or take the text out of it")
_XML = ("XML or SGML", "take the text out of it; of a dump of Wikipedia by WikiExtractor with --json")
_TAR = ("a tar archive", "unpack it (tar -xf), and give its files")
_PICKLE = ("a pickle of Python", 'make text of it: pandas.read_pickle(path).to_csv("rows.csv", index=False)')
_DOWNLOADS = (_POINTER, _PAGE)
# How a file begins that is no text: what it is, and what to do with it.
_MARKS = (
    *(
        (mark, f"a table ({name})", f'name it .{name}, or set dataset.file_format="{name}"')
        for name, mark in TABLES.items()
    ),
    (b"\x1f\x8b", "packed by gzip", "end its name in .gz"),
    (b"BZh", "packed by bzip2", "end its name in .bz2"),
    (b"\xfd7zXZ\x00", "packed by xz", "end its name in .xz"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd", "end its name in .zst"),
    (
        b"\xd0\xcf\x11\xe0",
        "a file of an old Excel or Word (.xls, .doc)",
        'open it there and save it as "CSV UTF-8", or as plain text',
    ),
    (b"\x80\x04\x95", *_PICKLE),
    (b"\x80\x05\x95", *_PICKLE),
    (b"%PDF", "a PDF", "take the text out of it, for example with pdftotext"),
    (b"version https://git-lfs", *_POINTER),
    (b"<!doctype html", *_PAGE),
    (b"<html", *_PAGE),
    (b"<?xml", *_XML),
    (b"<mediawiki", *_XML),
    (b"<!doctype", *_XML),
    (b"warc/", "an archive of web pages (WARC, WET)", "take the texts out of it, without their heads"),
    (b"{\\rtf", "a document in RTF", "save it as plain text in UTF-8"),
    (
        b"<doc id=",
        "a text of WikiExtractor between its marks",
        "make blank lines of these (sed -i 's|^</*doc.*||' FILES), or write with --json into names in .jsonl",
    ),
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
    """One of `FileFormat`: what the name ends in, compressed or not.

    None for any other name. ValueError as `find_compression` raises it.
    """
    file_format = ENDINGS.get(Path(name_when_unpacked(path)).suffix)
    return None if file_format in TABLES and find_compression(path) else file_format


def table_by_content(path: str | Path) -> str | None:
    """The format of a table, by its first bytes, unpacked; None for any other file."""
    return _marked_table(beginning(path, _HEAD))


def _marked_table(first):
    return next((name for name, mark in TABLES.items() if first.startswith(mark)), None)


def kind_of_rows(file_format: str) -> str:
    """The format; "delimited" for all of rows of cells between delimiters."""
    return "delimited" if file_format in DELIMITED else file_format


def kind_by_content(path: str | Path) -> str:
    """As `kind_of_rows`, by the first bytes of a file, unpacked: of no table and no JSON "delimited"."""
    first = beginning(path, _HEAD)
    if first.startswith(_ARROW_STREAM):
        return "arrow"
    text = first.lstrip(codecs.BOM_UTF8 + codecs.BOM_UTF16).replace(b"\0", b"").lstrip()
    return _marked_table(first) or ("jsonl" if text[:1] in (b"{", b"[") else "delimited")


def require_text_format(path: str | Path, what: str):
    """Refuses a file that is no text by its first bytes, unpacked, or by its name.

    Args:
      path: a file.
      what: what is expected instead, for the message, for example "text".

    Raises:
      ValueError: naming the file, what it is, and how to make a text of it.
    """
    if format_by_name(path) not in TABLES:
        _require_no_other(path, what)
    if not _UNREAD.isdisjoint((Path(path).suffix.lower(), Path(name_when_unpacked(path)).suffix)):
        raise ValueError(
            f"{path} has a format that kbert does not read; give {what}, plain or compressed as .gz, .bz2, "
            ".xz or .zst."
        )


def require_table_format(path: str | Path, file_format: str):
    """Refuses a file that has the first bytes of another format than a table's. ValueError as above."""
    if not beginning(path, _HEAD).startswith(TABLES[file_format]):
        _require_no_other(path, file_format)


def _require_no_other(path, what):
    first = beginning(path, _HEAD)
    if foreign := _archive(path) if first.startswith(_ZIP) else _marked(first):
        kind, remedy = foreign
        if find_compression(path) and first.startswith(tuple(TABLES.values())):
            remedy = f"unpack it, then {remedy}"
        raise ValueError(f"{path} is {kind}, by its first bytes; expected {what}: {remedy}.")


def path_problem(path: str | Path) -> str:
    """What stands at a path where a file is expected, for a message."""
    if not os.path.exists(path):
        remote = "is no path of this machine, and kbert reads nothing else: copy it here, or mount its bucket"
        return remote if is_remote(path) else "does not exist"
    return (
        "is a folder" if os.path.isdir(path) else "is a pipe or a device, not a file that can be read twice"
    )


def require_downloaded(path: str | Path):
    """Refuses what a download leaves under the name of a file: a pointer of Git LFS, a page of the web.

    Raises:
      ValueError: naming the file, what it is, and how to get the file itself.
    """
    with Path(path).open("rb") as file:
        foreign = _marked(file.read(_HEAD))
    if foreign and tuple(foreign) in _DOWNLOADS:
        raise ValueError(f"{path} is {foreign[0]}; {foreign[1]}.")


def _marked(first):
    if first[257:262] == b"ustar":
        return _TAR
    text = first.removeprefix(codecs.BOM_UTF8).lstrip().lower()
    return next((rest for mark, *rest in _MARKS if first.startswith(mark) or text.startswith(mark)), None)


def _archive(path):
    names: list[str] = []
    with contextlib.suppress(zipfile.BadZipFile, OSError), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    known = next((what for name, what in _ARCHIVES.items() if name in names), None)
    return known or ("a zip archive", f"unpack it first; it holds {', '.join(names[:5])[:200] or 'no files'}")
