"""Labelled files: what is read, and how the rest is refused, with file, line and mend."""

import dataclasses
import gzip
import itertools
import json

import pyarrow as pa
import pytest

from kbert.config import DatasetConfig
from kbert.input_pipelines.label_names import sorted_labels
from kbert.input_pipelines.labelled_files import (
    LabelledText,
    examples_fingerprint,
    read_rows,
    stream_records,
    stream_rows,
    text_cell,
)
from tests.kbert.input_pipelines.tables.written_tables import write_parquet

PLAIN = DatasetConfig()
PAIRS = DatasetConfig(text="a", text_pair="b", label="y")


@pytest.fixture
def write(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return write


NO_HEADER = DatasetConfig(column_names=("source", "label", "mark", "text"))
READ = {
    "tsv, quoting off": (
        *("a.tsv", PLAIN, 'label\ttext\n1\t"an open quote\n0\tsaid "so" and, left\n'),
        [('"an open quote', None, "1"), ('said "so" and, left', None, "0")],
    ),
    "csv with quotes": (
        *("a.csv", PLAIN, 'text,label\r\n"one, ""two""\nthree",x\r\nplain,y\r\n'),
        [('one, "two"\nthree', None, "x"), ("plain", None, "y")],
    ),
    "csv without quotes": (
        *("a.csv", DatasetConfig(file_format="tsv", delimiter=","), 'label,text\n1,"good\n0,bad"\n'),
        [('"good', None, "1"), ('bad"', None, "0")],
    ),
    "csv with a blank before a text": (
        *("a.csv", PLAIN, 'label,text\nx, "one"\ny,two\n'),
        [(' "one"', None, "x"), ("two", None, "y")],
    ),
    "csv with a blank before each text, and marks in some": (
        *("a.csv", PLAIN, 'label|text\nx| a film\ny| "Good" was the word\nx| "one\ny| two"\n'),
        [("a film", None, "x"), ('"Good" was the word', None, "y"), ('"one', None, "x"), ('two"', None, "y")],
    ),
    "JSON lines with blank ones": (
        *("a.jsonl", PAIRS, '{"a": "é\\tx", "b": "two", "y": 1}\n\n{"y": 0, "b": "", "a": "z"}\n'),
        [("é\tx", "two", "1"), ("z", "", "0")],
    ),
    "two byte order marks": ("a.tsv", PLAIN, "\ufeff\ufefftext\tlabel\ngood\t1\n", [("good", None, "1")]),
    "a byte order mark": ("a.tsv", PLAIN, "\ufefftext\tlabel\ngood\t1\n", [("good", None, "1")]),
    "no header": (
        "a.tsv",
        NO_HEADER,
        "gj04\t1\t\tOur.\nb\t0\t*\tTheir.\n",
        [("Our.", None, "1"), ("Their.", None, "0")],
    ),
    "a format of its own": (
        *("a.txt", DatasetConfig(file_format="tsv"), "text\tlabel\ngood\t1\n"),
        [("good", None, "1")],
    ),
    "carriage returns": ("a.tsv", PLAIN, "text\tlabel\r\ngood\t1\r\n", [("good", None, "1")]),
    "a surrogate pair": (
        *("a.jsonl", PLAIN, '{"text": "\\ud83d\\ude00", "label": "\\ud83d\\ude00"}\n'),
        [("😀", None, "😀")],
    ),
    "integers": ("a.jsonl", PLAIN, '{"text": "x", "label": -1}\n', [("x", None, "-1")]),
    "other columns": (
        *("a.jsonl", PLAIN, '{"text": "x", "label": "1", "score": null, "tags": [1.5, {}]}\n'),
        [("x", None, "1")],
    ),
    "other columns twice": ("a.tsv", PLAIN, "id\tid\ttext\tlabel\n1\t2\tx\t1\t\t\n", [("x", None, "1")]),
}


@pytest.mark.parametrize("case", READ)
def test_what_is_read(write, case):
    name, dataset, content, rows = READ[case]
    assert read_rows(write(name, content), dataset) == [LabelledText(*row) for row in rows]


def test_single_quotation_marks_and_texts_that_were_cut_are_said(write, caplog):
    read_rows(path := write("a.csv", "text,label\n'it''s so',x\n'a ''b''',y\nit''s,x\n"), PLAIN)
    assert f"{path}: 2 row(s) have cells in single quotation marks" in caplog.text
    read_rows(path := write("b.csv", 'label,text,,\nx,"a "," b",\ny,c,,\nx,d, ,\n'), PLAIN)
    assert f"{path}: 1 row(s) have something in columns without a name, the first is line 2;" in caplog.text
    caplog.clear()
    read_rows(write("c.csv", ",text,label\n0,a,x\n1,b,y\n"), PLAIN)  # the index of pandas
    assert not caplog.text


def test_quotation_marks_around_all_texts_of_tsv_are_said(write, caplog):
    """As R writes texts beside numbers, without names of columns."""
    bare = dataclasses.replace(PLAIN, column_names=("text", "label"))
    path = write("a.tsv", '"good film"\t1\n"bad"\t0\n' * 5)
    assert read_rows(path, bare)[0].text == '"good film"'
    assert f"{path}: all cells of the column 'text' stand in quotation marks, as CSV" in caplog.text
    path = write("d.tsv", '"good ""film"""\t1\t\n' * 4)  # a tab at the end of each line, as in SemEval-2017's
    assert read_rows(path, bare)[0].label == "1"
    assert f"{path}: 4 row(s) have cells in quotation marks, with doubled ones inside" in caplog.text
    excel = "text\tlabel\n" + '"good, but dear"\t1\nfine\t0\n' * 10  # its "Text (Tab delimited)"
    read_rows(path := write("e.tsv", excel), PLAIN)
    assert f"{path}: 10 cells stand in quotation marks, all those with a comma and no others" in caplog.text
    caplog.clear()
    for number, line in enumerate(("fine, too\t0\n", '"fine"\t0\n')):
        read_rows(write(f"f{number}.tsv", excel + line), PLAIN)
    read_rows(write("b.tsv", '"good film"\t1\n"a" or "b"\t0\nbad\t0\n' * 5), bare)
    read_rows(write("c.tsv", '"good film"\t1\n'), bare)  # one may be speech
    assert not caplog.text


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        ('label,text\n1,"good movie\n0,bad movie"\n1,x\n0,y\n', "1 row(s) run over several lines each"),
        ('text,label\r\nok,1\r\n"good movie,1\r\n\r\nfine,0\r\nbad movie",0\r\n', "over lines 3 to 6"),
        ('id;text;label\n1;"good;a\n2;bad";b\n3;x;a\n4;"y;a\n5;z";b\n', "2 row(s)"),
        (
            'label\ttext\nham\t"Hi\nspam\tFree\nham\tbye"\nspam\tx\n',
            "set dataset.file_format=tsv and dataset.delimiter='\\t' where",
        ),
        ('text,toxic,rude\n"one,0,1\ntwo",1,0\nthree,0,0\n', "1 row(s)"),
        ('label,text\n1,"good movie,\n0,bad movie",\n1,x,\n0,y,\n', "1 row(s)"),
        ('id,text\n7,"good movie\n8,bad movie"\n9,x\n', "1 row(s)"),  # without labels, as for answers
        ('text,id\n"a,q1\nb",q20\nc,q3\n', "1 row(s)"),
        ('id,text\n7,"Hi\nBye, Al"\n8,x\n', ""),
        ('label,text\n1,"Hi\n\nBye, Al\n2,0"\n0,x\n', ""),  # texts of several lines
        ('text,label\n"Hi, Bob\nbye",0\n"1\n0",1\n"Yes, 1\nno",0\n', ""),
        ('text,other\n"Hi, Bob\nbye",0\n', ""),
        ('text\tlabel\n"good\t1\nbad"\t0\n', ""),
    ],
)
def test_rows_that_a_quotation_mark_swallowed_are_said(write, caplog, content, lines):
    path = write("a.tsv" if "good\t" in content else "a.csv", content)
    assert list(stream_rows(path, DatasetConfig(labels=("toxic", "rude")), with_labels=False))
    assert lines in caplog.text and (f"{path}: " in caplog.text) == bool(lines)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (
            "text\nfirst\rpart\nsecond\nthird\n",
            "1 row(s) end with a carriage return alone, others with a line fee",
        ),
        ('text\n"a\rb"\nc\rd\n"e\n\nf"\n', "1 row(s) end with a carriage return alone"),
        ('text\r\n"first\rpart"\r\nsecond\r\nthird\r\n', ""),
        ("text\rone\rtwo\rthree", ""),
        ("text\r\r\none\r\r\ntwo\r\r\nthree\r\r\n", ""),
    ],
)
def test_carriage_returns_that_cut_texts_are_said(write, caplog, content, what):
    """pandas writes them without quotes."""
    path = write("a.csv", content)
    assert list(stream_rows(path, PLAIN, with_labels=False))
    assert what in caplog.text and (f"{path}: " in caplog.text) == bool(what)
    with pytest.raises(
        ValueError, match="2: 1 columns where 2(.|\n)*carriage return alone ends a row.*QUOTE_ALL"
    ):
        read_rows(write("b.csv", "label,text\none\rtwo\n"), PLAIN)


def test_a_second_text_that_is_not_read_is_said(write, caplog, tmp_path):
    content = '{"text": "a", "text_pair": "b", "label": "x"}\n'
    assert read_rows(path := write("a.jsonl", content), PLAIN) == [LabelledText("a", None, "x")]
    assert f"{path}: the column 'text_pair' is not read, as dataset.text_pair names no column" in caplog.text
    rows = pa.table({"text": ["a"], "text_pair": [b"\xff"], "label": ["x"]})
    assert read_rows(path := write_parquet(tmp_path / "a.parquet", rows), PLAIN)
    assert f"{path}: the column 'text_pair' is not read" in caplog.text
    first = dataclasses.replace(PLAIN, text="sentence1")
    rows = pa.table({"sentence1": ["a"], "sentence2": ["b"], "label": ["x"]})
    for path in (
        write("c.csv", "sentence1,sentence2,label\na,b,x\n"),
        write_parquet(tmp_path / "c.parquet", rows),
    ):
        assert read_rows(path, first) == [LabelledText("a", None, "x")]
        assert (
            f"{path}: the column 'sentence2' is not read, as dataset.text_pair names no column" in caplog.text
        )
    caplog.clear()
    pairs = dataclasses.replace(PLAIN, text_pair="text_pair")
    assert read_rows(write("b.jsonl", content), pairs) == [LabelledText("a", "b", "x")]
    assert not caplog.text


@pytest.mark.parametrize("form", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize("others", [("test", "dev"), ("train", "train")])
def test_a_column_that_says_several_splits_is_said(write, caplog, tmp_path, form, others):
    splits = ("train", *others)
    table = pa.table({"text": ["a", "b", "c"], "label": ["x"] * 3, "Partition": splits})
    if form == "a.parquet":
        path = write_parquet(tmp_path / form, table)
    elif form == "a.csv":
        path = write(
            form, "".join(f"{row}\n" for row in ("text,label,Partition", *map("a,x,{}".format, splits)))
        )
    else:
        path = write(form, "".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    assert len(read_rows(path, PLAIN)) == 3
    said = f"{path}: its column 'Partition' says train (1), test (1), dev (1), and all of these rows are read"
    assert (said in caplog.text) == ("test" in others) == bool(caplog.text)
    caplog.clear()
    assert len(read_rows(path, dataclasses.replace(PLAIN, label="Partition"))) == 3
    assert not caplog.text


def test_short_rows_are_skipped_where_the_config_says_so_and_never_without_labels(write, caplog):
    lines = ["a\tb\ty", "one\ttwo\t1", "broken", "three\tfour", "five\tsix\t0"]
    path = write("a.tsv", "\n".join(lines) + "\n")
    both = r"a.tsv cannot be used as it is:\n  line 3: 1 columns where 3 .*\n  line 4: 2 columns where 3 were"
    with pytest.raises(ValueError, match=both):
        read_rows(path, PAIRS)
    skipping = dataclasses.replace(PAIRS, skip_short_rows=True)
    expected = [LabelledText("one", "two", "1"), LabelledText("five", "six", "0")]
    assert read_rows(path, skipping) == expected
    assert f"{path}: 2 row(s) with too few columns are skipped: line 3, 4" in caplog.text
    with pytest.raises(ValueError, match=both):
        list(stream_rows(path, skipping, with_labels=False))
    with pytest.raises(ValueError, match="a.tsv line 2: 4 columns where 3 were expected"):
        read_rows(write("a.tsv", "a\tb\ty\none\ttwo\t1\tmore\n"), skipping)
    with pytest.raises(ValueError, match="holds no rows"):
        read_rows(write("a.tsv", "a\tb\ty\nbroken\n"), skipping)


@pytest.mark.parametrize(
    ("dataset", "name", "content", "place"),
    [
        (PLAIN, "a.csv", 'text,label\none,x\n" \t",y\n', "a.csv line 3 has no text in column 'text'"),
        (
            PLAIN,
            "a.jsonl",
            '{"text": "\\n\\u00a0", "label": "x"}\n',
            "a.jsonl line 1 has no text in column 'text'",
        ),
        (PAIRS, "a.tsv", "a\tb\ty\n\t \t1\n", "a.tsv line 2 has no text in columns 'a', 'b'"),
        (
            DatasetConfig(text="t", choices=("c", "d"), label="y"),
            "a.tsv",
            "t\tc\td\ty\n\t\t\t1\n",
            "a.tsv line 2 has no text in columns 't', 'c', 'd'",
        ),
    ],
)
def test_a_labelled_row_without_any_text_is_refused(write, dataset, name, content, place):
    path = write(name, content)
    with pytest.raises(ValueError, match=f"{place}; fix the row or leave it out."):
        list(stream_records(path, dataset, (dataset.text,)))
    assert list(stream_records(path, dataset, (dataset.text,), with_labels=False))  # it has an answer


def test_a_list_in_a_column_of_texts_is_told_how_to_be_written():
    with pytest.raises(ValueError, match="a JSON list as 'pos', not a string; write a row for each text of"):
        text_cell({"pos": ["a", "b"]}, "pos", "line 1")


def test_rows_are_read_as_they_are_asked_for(write):
    """What is wrong further down is not known yet."""
    path = write("a.tsv", "text\tlabel\n" + "good\t1\n" * 99_999 + "bad\n")
    rows = stream_rows(path, PLAIN)
    assert list(itertools.islice(rows, 99_999)) == [LabelledText("good", None, "1")] * 99_999
    with pytest.raises(ValueError, match="a.tsv line 100001: 1 columns where 2 were expected"):
        next(rows)


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
def test_a_cell_may_be_as_long_as_a_book(write, name):
    book = "word " * 400_000
    content = json.dumps({"text": book, "label": "1"}) if name == "a.jsonl" else None
    separator = "," if name == "a.csv" else "\t"
    path = write(name, content or f"text{separator}label\n{book}{separator}1\n")
    assert read_rows(path, PLAIN) == [LabelledText(book, None, "1")]


REFUSED = {
    "no column": (
        "a.tsv",
        "sentence\tlabel\nx\t1\n",
        "a.tsv has no column 'text'; its columns are ['sentence', 'label']. Name the columns in the config, "
        "or by --override=dataset.text=... where the command has it (dataset.text, ",
    ),
    "no label column": (
        "a.tsv",
        "text\ty\nx\t1\n",
        "a.tsv has no column 'label'; its columns are ['text', 'y']. Name the columns",
    ),
    "few cells": (
        "a.tsv",
        "text\tlabel\nx\t1\nonly text\n",
        "a.tsv line 3: 1 columns where 2 were expected (text, label);",
    ),
    "open quote": ("a.csv", 'text,label\n"x,1\n', "a.csv line 2: "),
    "not UTF-8": (
        "a.tsv",
        b"text\tlabel\nx\t1\ncaf\xe9\t0\n",
        "a.tsv line 3 is not UTF-8 (byte 0xe9). It is likely to be cp1252, which gives 'café\\t0': write "
        "--override=dataset.encoding=cp1252 where the command has it, or save it as UTF-8 "
        "(iconv -f CP1252 -t UTF-8).",
    ),
    "empty": ("a.tsv", "", "a.tsv is empty; expected a first line with the names of the columns."),
    "another delimiter and no such column": (
        "a.csv",
        "Text;label\na;b\n",
        "a.csv has no column 'text'; its columns are ['Text', 'label']. Did you mean 'Text'? Write "
        "--override=dataset.text=Text or, in the config, dataset.text.",
    ),
    "header only": ("a.tsv", "text\tlabel\n", "a.tsv holds no rows; expected one per line."),
    "not JSON": ("a.jsonl", '{"text": "x", "label": "1"}\n{"text": \n', "a.jsonl line 2 is not valid JSON: "),
    "commas behind objects": (
        *("a.jsonl", '{"text": "x", "label": "1"},\n{"text": "y", "label": "0"}\n'),
        "a.jsonl line 1 ends in a comma; take it away: sed 's/},\\r*$/}/' OLD > NEW.",
    ),
    "spaCy's pair": (
        *("a.jsonl", '["x", {"entities": []}]\n'),
        "a.jsonl line 1: expected an object of columns, received a list: ['x', {'entities': []}]. "
        "Make rows of them: jq -c '{text: .[0], label: .[1]}' OLD > NEW",
    ),
    "sentence-transformers' pair": (
        *("a.jsonl", '["a query", "its text"]\n'),
        "a.jsonl line 1: expected an object of columns, received a list: ['a query', 'its text']. Make rows",
    ),
    "JSON list": ("a.jsonl", "[1]\n", "a.jsonl line 1: expected an object of columns, received a list: [1]."),
    "nested too deeply": ("a.jsonl", "[" * 200_000 + "\n", "a.jsonl line 1 is nested too deeply to be read."),
    "a column twice": (
        "a.tsv",
        "text\tlabel\ttext\nx\t1\ty\n",
        "a.tsv has 2 columns 'text'; its columns are ['text', 'label', 'text']. Give each column a diff",
    ),
    "a JSON name twice": (
        "a.jsonl",
        '{"text": "x", "label": "1", "label": "2"}\n',
        "a.jsonl line 1 is not valid JSON: the name 'label' appears twice.",
    ),
    "many cells": (
        "a.tsv",
        "text\tlabel\nx\t1\na tab\tin the text\t1\n",
        "a.tsv line 3: 3 columns where 2 were expected (text, label);",
    ),
    "an empty label": (
        "a.tsv",
        "text\tlabel\nx\t1\ny\t\n",
        "a.tsv line 3 has no label in column 'label'; give it one, or leave all such rows out by "
        "dataset.skip_unlabelled=true.",
    ),
    "unknown ending": (
        "a.txt",
        "x",
        "a.txt: cannot tell the format from the name; end it in one of .tsv, .tab, .csv, .jsonl, "
        ".ndjson, .jsonlines, .json, .parquet, .arrow, or set dataset.file_format.",
    ),
    "half a gzip": (
        "a.tsv.gz",
        gzip.compress(b"text\tlabel\nx\t1\n")[:-9],
        "a.tsv.gz line 3 cannot be unpacked: not a whole gzip file (",
    ),
}


@pytest.mark.parametrize(("name", "content", "sentence"), REFUSED.values(), ids=REFUSED.keys())
def test_refusals_name_file_line_and_mend(write, name, content, sentence):
    path = write(name, content)
    with pytest.raises(ValueError) as error:
        read_rows(path, PLAIN)
    assert str(error.value).startswith(str(path.parent / sentence.split(" ")[0].rstrip(":")))
    assert sentence in str(error.value)


NO_LABELS = {
    "null": "has null as its label 'label', so it has no label; give it one",
    "true": "has true as its label 'label', which could be taken for several names",
    "1.5": "has the number 1.5 as its label 'label', a number, which is a label for regression; classi",
    "NaN": "has the number nan as its label 'label', so it has no label; give it one",
    "[1, 2]": "has the list [1, 2] as its label 'label', which is for multi-label classification; this task "
    "expects one label, a string or an integer: where each list has one, take it out, as jq -c '.label |= .",
    '{"a": 1}': "has the object {'a': 1} as its label 'label', an object; classification expects a string",
    '""': "has no label in column 'label'; give it one",
    '"\\ud800"': "has text with half a surrogate pair (U+D800) as 'label', which UTF-8 cannot encode",
}


@pytest.mark.parametrize("value", NO_LABELS)
def test_what_is_no_label_is_refused_with_the_task_that_takes_it(write, value):
    path = write("a.jsonl", f'{{"text": "x", "label": "1"}}\n{{"text": "x", "label": {value}}}\n')
    with pytest.raises(ValueError) as error:
        read_rows(path, PLAIN)
    assert str(error.value).startswith(f"{path} line 2 {NO_LABELS[value]}")
    assert len(list(stream_rows(path, PLAIN, with_labels=False))) == 2, "where no labels are asked for"


def test_the_fingerprint_is_that_of_texts_and_labels_in_order(write):
    rows = [LabelledText("one", None, "1"), LabelledText("two", "three", "2"), LabelledText("é", None, None)]
    written = write("a.jsonl", '{"text": "one", "label": 1}\n')
    assert examples_fingerprint(read_rows(written, PLAIN)) == examples_fingerprint(rows[:1])
    assert examples_fingerprint(iter(rows)) == examples_fingerprint(rows)
    others = [
        rows[::-1],
        rows[:2],
        [],
        [LabelledText("one", None, "2"), *rows[1:]],
        [LabelledText("one", "", "1"), *rows[1:]],
        [LabelledText("one1", None, ""), *rows[1:]],
        [rows[0], LabelledText("twot", "hree", "2"), rows[2]],
        [rows[0], LabelledText("two", "three", "2"), LabelledText("é", None, "")],
    ]
    assert len({examples_fingerprint(rows), *map(examples_fingerprint, others)}) == len(others) + 1


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
    assert sorted_labels(labels) == expected
