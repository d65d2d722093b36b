"""Labelled files: what is read, and how the rest is refused, with file, line and mend."""

import gzip
import itertools
import json

import pytest

from kbert.config import DatasetConfig
from kbert.input_pipelines.labelled_files import Row, labels_of, read_rows, stream_rows

PLAIN = DatasetConfig()
PAIRS = DatasetConfig(text="a", text_pair="b", label="y")


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


def test_tsv_is_read_with_quoting_off(write):
    path = write("a.tsv", 'label\ttext\n1\t"an open quote\n0\tsaid "so" and, left\n')
    assert read_rows(path, PLAIN) == [Row('"an open quote', None, "1"), Row('said "so" and, left', None, "0")]


def test_csv_is_read_with_quotes(write):
    path = write("a.csv", 'text,label\r\n"one, ""two""\nthree",x\r\nplain,y\r\n')
    assert read_rows(path, PLAIN) == [Row('one, "two"\nthree', None, "x"), Row("plain", None, "y")]


def test_jsonl_with_numbers_and_blank_lines(write):
    path = write("a.jsonl", '{"a": "é\\tx", "b": "two", "y": 1}\n\n{"y": 0, "b": "", "a": "z"}\n')
    assert read_rows(path, PAIRS) == [Row("é\tx", "two", "1"), Row("z", "", "0")]


def test_a_byte_order_mark_is_no_part_of_the_first_column(write):
    path = write("a.tsv", b"\xef\xbb\xbftext\tlabel\ngood\t1\n")
    assert read_rows(path, PLAIN) == [Row("good", None, "1")]


def test_a_file_without_a_header_line(write):
    dataset = DatasetConfig(column_names=("source", "label", "mark", "text"))
    path = write("a.tsv", "gj04\t1\t\tOur friends.\nb\t0\t*\tTheir.\n")
    assert read_rows(path, dataset) == [Row("Our friends.", None, "1"), Row("Their.", None, "0")]


def test_compressed_files_and_a_format_of_their_own(write):
    path = write("a.tsv.gz", gzip.compress(b"text\tlabel\ngood\t1\n"))
    assert read_rows(path, PLAIN) == [Row("good", None, "1")]
    path = write("a.txt", "text\tlabel\ngood\t1\n")
    assert read_rows(path, DatasetConfig(file_format="tsv")) == [Row("good", None, "1")]


def test_rows_are_read_as_they_are_asked_for(write):
    """What is wrong further down is not known yet."""
    path = write("a.tsv", "text\tlabel\n" + "good\t1\n" * 99_999 + "bad\n")
    rows = stream_rows(path, PLAIN)
    assert list(itertools.islice(rows, 99_999)) == [Row("good", None, "1")] * 99_999
    with pytest.raises(ValueError, match="a.tsv line 100001: 1 columns where 2 were expected"):
        next(rows)


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
def test_a_cell_may_be_as_long_as_a_book(write, name):
    book = "word " * 400_000
    content = json.dumps({"text": book, "label": "1"}) if name == "a.jsonl" else None
    separator = "," if name == "a.csv" else "\t"
    path = write(name, content or f"text{separator}label\n{book}{separator}1\n")
    assert read_rows(path, PLAIN) == [Row(book, None, "1")]


def test_labels_are_not_asked_for_where_there_are_none(write):
    assert read_rows(write("a.tsv", "text\ngood\n"), PLAIN, with_labels=False) == [Row("good", None, None)]


def test_carriage_returns_at_line_ends_are_no_part_of_a_label(write):
    assert read_rows(write("a.tsv", "text\tlabel\r\ngood\t1\r\n"), PLAIN) == [Row("good", None, "1")]


REFUSED = {
    "no column": (
        "a.tsv",
        "sentence\tlabel\nx\t1\n",
        "a.tsv has no column 'text'; its columns are ['sentence', 'label']. Name the columns in the config "
        "(dataset.text, ",
    ),
    "no label column": (
        "a.tsv",
        "text\ty\nx\t1\n",
        "a.tsv line 2 has no column 'label'; it has ['text', 'y'].",
    ),
    "few cells": (
        "a.tsv",
        "text\tlabel\nx\t1\nonly text\n",
        "a.tsv line 3: 1 columns where 2 were expected (text, label).",
    ),
    "open quote in the header": ("a.csv", '"text,label\nx,1\n', "a.csv line 2: "),
    "open quote": ("a.csv", 'text,label\n"x,1\n', "a.csv line 2: "),
    "not UTF-8": (
        "a.tsv",
        b"text\tlabel\nx\t1\ncaf\xe9\t0\n",
        "a.tsv line 3 is not UTF-8; convert it, for example with iconv.",
    ),
    "empty": ("a.tsv", "", "a.tsv has no column 'text'; its columns are []."),
    "header only": ("a.tsv", "text\tlabel\n", "a.tsv holds no rows; expected labelled texts, one a line."),
    "not JSON": ("a.jsonl", '{"text": "x", "label": "1"}\n{"text": \n', "a.jsonl line 2 is not JSON: "),
    "JSON list": ("a.jsonl", "[1]\n", "a.jsonl line 1: expected an object of columns, received [1]."),
    "JSON without a column": (
        "a.jsonl",
        '{"text": "x"}\n',
        "a.jsonl line 1 has no column 'label'; it has ['text'].",
    ),
    "unknown ending": (
        "a.txt",
        "x",
        "a.txt: cannot tell the format from the name; end it in .tsv, .csv or .jsonl, or set "
        "dataset.file_format.",
    ),
    "no gzip": ("a.tsv.gz", b"text\tlabel\n", "a.tsv.gz is not a whole gzip file ("),
    "half a gzip": (
        "a.tsv.gz",
        gzip.compress(b"text\tlabel\nx\t1\n")[:-9],
        "a.tsv.gz is not a whole gzip file (",
    ),
}


@pytest.mark.parametrize(("name", "content", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals_name_file_line_and_mend(write, name, content, sentence):
    path = write(name, content)
    with pytest.raises(ValueError) as error:
        read_rows(path, PLAIN)
    assert str(error.value).startswith(str(path.parent / sentence.split(" ")[0].rstrip(":")))
    assert sentence in str(error.value)


def test_an_unlisted_label_is_refused(write):
    path = write("a.tsv", "text\tlabel\nx\tyes\ny\tmaybe\n")
    with pytest.raises(ValueError) as error:
        read_rows(path, DatasetConfig(labels=("no", "yes")))
    assert str(error.value) == f"{path} line 3: label 'maybe' is not in the label list ['no', 'yes']."


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match="labelled file .*a.tsv does not exist"):
        read_rows(tmp_path / "a.tsv", PLAIN)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["b", "a", "b"], ("a", "b")),
        (["10", "9", "-1"], ("-1", "9", "10")),
        (["10", "9", "x"], ("10", "9", "x")),
        (["1", "01", "0"], ("0", "01", "1")),  # equal as numbers: the order must not be a set's
        (["²", "--1"], ("--1", "²")),  # digits for some, but no numbers
    ],
)
def test_labels_are_sorted_numbers_as_numbers(labels, expected):
    assert labels_of([Row("x", None, label) for label in labels]) == expected
