"""Formats of files, by their names and by their first bytes."""

import gzip
import pickle
import tarfile
import zipfile
from typing import get_args

import pytest

from kbert.files.file_format import ENDINGS, FORMATS, FileFormat, format_by_name, require_text_format
from kbert.files.text_file import read_lines


@pytest.mark.parametrize(
    ("name", "file_format"),
    [
        *[
            (f"a{ending}", "jsonl")
            for ending in (".jsonl", ".ndjson", ".json", ".JSON", ".ndjson.gz", ".json.BZ2")
        ],
        *[("a.TSV", "tsv"), ("a.csv.xz", "csv"), ("a.Parquet", "parquet"), ("a.arrow", "arrow")],
        *[
            ("a.txt", None),
            ("csv", None),
            ("a.csv.old", None),
            ("a.parquet.gz", None),
            ("a.json.d/rows", None),
        ],
    ],
)
def test_the_name_says_the_format(name, file_format):
    assert format_by_name(name) == file_format


def test_every_format_has_an_ending():
    assert list(FORMATS) == list(dict.fromkeys(ENDINGS.values())) == list(get_args(FileFormat))


def archive(*names):
    def write(path):
        with zipfile.ZipFile(path, "w") as zipped:
            for name in names:
                zipped.writestr(name, "x")

    return write


def tar(path):
    path.with_suffix(".txt").write_text("A text.\n")
    with tarfile.open(path, "w") as archived:
        archived.add(path.with_suffix(".txt"), "a.txt")


NO_TEXT = {
    "xlsx": (archive("[Content_Types].xml", "xl/workbook.xml"), "an Excel workbook"),
    "ods": (archive("mimetype", "content.xml"), "an OpenDocument file"),
    "docx": (archive("word/document.xml"), "a Word document"),
    "zip": (archive("train.csv"), "a zip archive, .*it holds train.csv"),
    "half a zip": (lambda path: path.write_bytes(b"PK\x03\x04more"), "a zip archive"),
    "xls": (lambda path: path.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "a file of an old Excel"),
    "pickle": (lambda path: path.write_bytes(pickle.dumps(["text"] * 9)), "a pickle of Python, .*to_csv"),
    "gzip": (
        lambda path: path.write_bytes(gzip.compress(b"text\n")),
        "packed by gzip, .*end its name in .gz",
    ),
    "parquet": (lambda path: path.write_bytes(b"PAR1...."), r"a table \(parquet\), .*file_format"),
    "pdf": (lambda path: path.write_bytes(b"%PDF-1.7"), "a PDF"),
    "git lfs": (
        lambda path: path.write_text("version https://git-lfs.github.com/spec/v1\n"),
        "a pointer of Git LFS",
    ),
    "html": (lambda path: path.write_text("\ufeff\n<!DOCTYPE html><html>", "utf-8"), "a page of the web"),
    "xml": (lambda path: path.write_text('<?xml version="1.0"?><mediawiki>'), "XML"),
    "sgml": (lambda path: path.write_text('<!DOCTYPE lewis SYSTEM "lewis.dtd">\n'), "XML or SGML"),
    "wet": (lambda path: path.write_text("WARC/1.0\r\nWARC-Type: warcinfo\r\n"), "an archive of web pages"),
    "rtf": (lambda path: path.write_text(r"{\rtf1\ansi A text.}"), "a document in RTF"),
    "tar": (tar, "a tar archive, .*tar -xf"),
}


@pytest.mark.parametrize("kind", NO_TEXT)
def test_what_is_no_text_is_known_by_its_first_bytes(tmp_path, kind):
    write, message = NO_TEXT[kind]
    path = tmp_path / "rows.csv"
    write(path)
    for read in (lambda path: require_text_format(path, "text"), lambda path: list(read_lines(path))):
        with pytest.raises(ValueError, match=f"rows.csv is {message}"):
            read(path)


@pytest.mark.parametrize("content", [b"", b"PK, a text", b"text,label\n", "parquet é\n".encode()])
def test_text_passes(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    require_text_format(tmp_path / "a.csv", "text")
