"""What is to be answered, from files with named columns."""

import csv
import dataclasses
import datetime
import gzip
import io
import json
import math
from decimal import Decimal
from types import SimpleNamespace

import pyarrow as pa
import pytest

from kbert.cli.warn_once import warn_once
from kbert.config import DatasetConfig
from kbert.experiments.finetuning_data import LabelledPaths
from kbert.inference.answers import to_examples
from kbert.input_pipelines import data_in_memory
from kbert.input_pipelines.labelled_files import read_rows, stream_examples
from kbert.input_pipelines.labels import class_label, number_label
from kbert.input_pipelines.python_values import plain_value
from kbert.input_pipelines.unlabelled_files import (
    count_rows,
    examples_from_columns,
    examples_from_table,
    examples_of_file,
    has_columns,
    has_rows,
    rows_and_examples,
    texts_and_pairs,
    with_checked_texts,
)
from kbert.input_pipelines.unlabelled_lines import read_standard_input
from kbert.tasks import TASKS
from kbert.tasks.file_columns import check_file
from kbert.tasks.sequences.choice_files import ChoiceFiles
from tests.kbert.input_pipelines.tables.written_tables import every_kind, write_parquet

INPUTS = (("text",), ("text", "text_pair"))
ROWS = [("7", 'one, "two"', "ham"), ("8", "a line\nand another", "spam")]


def whole_rows(*arguments):
    return (row for row, _ in rows_and_examples(*arguments))


def write_csv(path, header, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def test_texts_of_a_csv_file_lose_quotes_header_and_labels(tmp_path):
    path = write_csv(tmp_path / "a.csv", ("id", "text", "label"), ROWS)
    assert has_columns(path) and count_rows(path) == 2
    assert list(examples_from_columns(path, INPUTS)) == [{"text": text, "id": id} for id, text, _ in ROWS]


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_a_blank_line_is_an_empty_cell_where_there_is_one_column(tmp_path, name):
    """As in a file of lines: answers are counted by it. Labelled files have no such row."""
    texts, dataset = ["", "one", "", "", "three", ""], DatasetConfig()
    (tmp_path / name).write_text("".join(f"{line}\n" for line in ["text", *texts]))
    (tmp_path / "a.txt").write_text("".join(f"{text}\n" for text in texts))
    rows = [{"text": text} for text in texts]
    for path in (tmp_path / name, tmp_path / "a.txt"):
        assert list(examples_of_file(path, INPUTS, dataset)) == rows
    assert list(whole_rows(tmp_path / name, INPUTS, dataset)) == rows
    assert count_rows(tmp_path / name, dataset) == len(rows)
    labelled = stream_examples(tmp_path / name, dataset, ["text"], lambda record, *_: record["text"])
    assert list(labelled) == ["one", "three"]


def test_columns_are_those_of_the_run_and_else_those_of_the_inputs(tmp_path):
    dataset = DatasetConfig(text="body", text_pair="title", label="stars", file_format="jsonl")
    own = write_csv(tmp_path / "own.csv", ("title", "body"), [("t", "b")])
    assert list(examples_from_columns(own, INPUTS, dataset)) == [{"text": "b", "text_pair": "t"}]
    plain = write_csv(tmp_path / "plain.csv", ("text", "text_pair"), [("b", "t")])
    assert list(examples_from_columns(plain, INPUTS, dataset)) == [{"text": "b", "text_pair": "t"}]
    table = write_parquet(tmp_path / "a.parquet", pa.table({"body": ["b"], "stars": [1]}))
    assert list(examples_from_columns(table, INPUTS, dataset)) == [{"text": "b"}]
    lines = tmp_path / "a.jsonl"  # whose rows may have other keys each
    lines.write_text('{"body": "b", "title": null, "stars": 1}\n\n{"id": 7, "text": "c", "text_pair": "d"}\n')
    expected = [{"text": "b"}, {"text": "c", "text_pair": "d", "id": 7}]
    assert list(examples_of_file(lines, INPUTS, dataset)) == expected
    seen = '{"text": "a", "text_pair": "b", "text_pear": "b"}\n'
    lines.write_text(seen + '{"text": "a", "text_pear": "b"}\n{"bodi": "b"}\n')
    with pytest.raises(ValueError, match="'text_pear', which is not read(.|\n)*line 3 has the columns"):
        list(examples_of_file(lines, INPUTS, dataset))
    lines.write_text('{"text": "a [MASK]", "candidate": ["x"]}\n')
    with pytest.raises(ValueError, match="rename it to 'candidates', or leave it out.$"):
        list(examples_of_file(lines, [("text", "candidates"), ("text",)]))


@pytest.mark.parametrize(
    ("row", "inputs", "example"),
    [
        ({"title": "a", "text": "b"}, INPUTS, {"text": "a", "text_pair": "b"}),
        ({"title": "a", "text": "b", "text_pair": "c"}, INPUTS, {"text": "a", "text_pair": "b"}),
        ({"text": "b", "text_pair": "c"}, INPUTS[1:], {"text": "b", "text_pair": "c"}),
        ({"text": "b", "text_pair": "c"}, INPUTS, {"text": "b", "text_pair": "c"}),
        ({"text": "b", "headline": "a"}, INPUTS, {"text": "b"}),
    ],
)
def test_no_column_is_two_inputs(tmp_path, row, inputs, example):
    """Of a run whose second text is called `text`, files have their own names where they lack its first."""
    dataset = DatasetConfig(text="title", text_pair="text")
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    assert [*examples_from_columns(path, inputs, dataset)] == [example]
    path = write_csv(tmp_path / "rows.csv", row, [row.values()])
    assert [*examples_from_columns(path, inputs, dataset)] == [example]
    assert count_rows(path, dataset, inputs) == 1
    table = pa.table({name: [text] for name, text in row.items()})
    assert examples_from_table(table, inputs, dataset) == [example]


def test_a_first_text_of_another_name_is_not_the_second(tmp_path):
    dataset = DatasetConfig(text="title", text_pair="text")
    path = write_csv(tmp_path / "rows.csv", ["headline", "text"], ["ab"])
    with pytest.raises(ValueError, match="expected title and text"):
        examples_from_columns(path, INPUTS[1:], dataset)


def test_a_second_text_that_no_model_of_single_texts_reads_is_said(tmp_path, caplog):
    warn_once.cache_clear()  # others may have read such data
    table = {"text": ["b"], "text_pair": ["t"]}
    path = write_csv(tmp_path / "a.csv", table, zip(*table.values(), strict=True))
    other = write_parquet(tmp_path / "a.parquet", pa.table(table))
    sentence = "the column 'text_pair' is not read: this model takes no second text"
    for file in (path, other):
        assert list(examples_from_columns(file, INPUTS)) == examples_from_table(table, INPUTS)
        assert sentence not in caplog.text
        assert list(examples_from_columns(file, [("text",)])) == [{"text": "b"}]
        assert f"{file}: {sentence}" in caplog.text
        caplog.clear()
    assert examples_from_table(table, [("text",)]) == [{"text": "b"}]
    assert f"the data: {sentence}" in caplog.text


@pytest.mark.parametrize(
    ("name", "content", "texts"),
    [
        ("a.csv", "label,text\nham,one\n", ["one"]),
        ("a.csv", "text,id\nhello you,7\nbye,8\n", ["hello you", "bye"]),  # the ids were answered
        ("a.csv", 'id,text\n7,"hello, you"\n', ["hello, you"]),
        ("a.tsv", "index\ttext\n0\thello\n", ["hello"]),  # CoLA's test file
        ("a.csv", "Unnamed: 0,text\n0,hello\n", ["hello"]),
        ("a.csv", "text\nhello\n\n", ["hello", ""]),
        ("a.csv", "text;id\nhello;7\n", ["hello"]),
        ("a.csv", "ham,text\nham,one\n", ["text", "one"]),
        ("a.csv", "7,text\n8,one\n", ["text", "one"]),
    ],
)
def test_a_header_is_read_in_a_run_whose_files_have_none(tmp_path, name, content, texts, caplog):
    path, dataset = tmp_path / name, DatasetConfig(column_names=("label", "text"), labels=("ham", "spam"))
    path.write_text(content)
    assert [row["text"] for row in examples_of_file(path, INPUTS, dataset)] == texts
    assert count_rows(path, dataset, INPUTS) == len(texts)
    assert [row["text"] for row in whole_rows(path, INPUTS, dataset)] == texts
    assert (f"{path}: its first row names its columns" in caplog.text) == ("text" not in texts)


def test_lines_of_standard_input_are_no_file_with_a_header():
    dataset, lines = DatasetConfig(column_names=("label", "text")), [{"text": "text"}, {"text": "hello"}]
    files = TASKS["sequence_classification"].files
    assert [*with_checked_texts(iter(lines), "standard input", dataset, files)] == lines


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("Label,Text", "Did you mean 'Text'"),
        ("Text,idx", "Did you mean 'Text'"),  # the ids were answered
        ("sentence,idx", "like a header .*; call the column of the texts 'text', .* its label empty"),
        ("idx,Review Text", "looks like a header"),
        ("Class Index,Title", "looks like a header"),
        ("label (0/1),review", "looks like a header"),
    ],
)
def test_a_header_of_other_names_is_no_row(tmp_path, header, why):
    dataset = DatasetConfig(column_names=("label", "text"), labels=("ham", "spam"))
    path = write_csv(tmp_path / "a.csv", header.split(","), [("ham", "one")])
    with pytest.raises(ValueError, match=why):
        list(examples_from_columns(path, INPUTS, dataset))
    for row in ("ham,question", ",question", "7,question", "idx,hello you"):
        path.write_text(f"{row}\n")
        assert list(examples_from_columns(path, INPUTS, dataset)) == [{"text": row.split(",")[1]}]


def test_a_header_of_pairs_is_no_row(tmp_path):
    dataset = DatasetConfig(text="title", text_pair="body", column_names=("label", "title", "body"))
    for text, why in (("Headline", "line 1 looks like a header .'n', 'Head"), ("Title", "mean 'Title'")):
        path = write_csv(tmp_path / "a.csv", ("n", text, "Description"), [("1", "a", "b")])
        with pytest.raises(ValueError, match=why):
            list(examples_from_columns(path, INPUTS, dataset))
    path = write_csv(tmp_path / "b.csv", ("3.5", "question", "answer"), [("1", "a", "b")])
    assert len(list(examples_from_columns(path, INPUTS, dataset))) == 2, "words that are compared"


def test_choices_stand_in_several_columns(tmp_path):
    dataset = DatasetConfig(text="context", choices=("end0", "end1"))
    path = tmp_path / "a.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write('end1\tcontext\tend0\nB\t"C\tA\n')
    assert list(examples_from_columns(path, [("text", "choices")], dataset)) == [
        {"text": '"C', "choices": ["A", "B"]}
    ]


def test_choices_begin_as_in_training(tmp_path):
    """SWAG: the beginning of the second sentence stands in a column of its own."""
    dataset = DatasetConfig(text="sent1", text_pair="sent2", choices=("ending0", "ending1"))
    path, inputs = tmp_path / "val.csv", [("text", "choices")]
    path.write_text("sent1,sent2,ending0,ending1,label\nHe ran.,He,fell.,sang.,0\n")
    [trained] = ChoiceFiles().read_examples(path, dataset)
    assert trained.choices == ("He fell.", "He sang.")
    expected = [{"text": trained.text, "choices": list(trained.choices)}]
    assert list(examples_from_columns(path, inputs, dataset)) == expected
    columns = {"sent1": ["He ran."], "sent2": ["He"], "ending0": ["fell."], "ending1": ["sang."]}
    assert examples_from_table(columns, inputs, dataset) == expected
    assert examples_from_table(columns | {"sent2": [None]}, inputs, dataset) == [{"text": "He ran."}]
    assert (
        examples_from_table(columns | {"sent2": [3]}, inputs, dataset)[0]["choices"][0] == 3
    )  # refused later
    whole = {"sent1": ["He ran."], "choices": [["He fell."]]}
    assert examples_from_table(whole, inputs, dataset) == [{"text": "He ran.", "choices": ["He fell."]}]
    with pytest.raises(ValueError, match="has 'sent2', with which every choice of the run begins, beside"):
        examples_from_table(whole | {"sent2": ["He"]}, inputs, dataset)
    with pytest.raises(ValueError, match="'sent2', with which every choice begins"):
        examples_from_table(
            {name: cell for name, cell in columns.items() if name != "sent2"}, inputs, dataset
        )


def test_a_file_without_a_header_has_the_columns_of_the_run(tmp_path):
    dataset = DatasetConfig(column_names=("label", "text"))
    (tmp_path / "a.tsv").write_text("ham\tgood\nspam\tbad\n")
    assert list(examples_from_columns(tmp_path / "a.tsv", INPUTS, dataset)) == [
        {"text": "good"}, {"text": "bad"},
    ]  # fmt: skip
    (tmp_path / "b.tsv").write_text("good\n")
    why = r"b.tsv (.|\n)*line 1: 1 columns where 2 were expected \(label, text\)(.|\n)*such as .txt"
    with pytest.raises(ValueError, match=why):
        list(examples_from_columns(tmp_path / "b.tsv", INPUTS, dataset))


@pytest.mark.parametrize("name", ["films.txt", "films"])
def test_lines_are_texts_where_the_run_has_columns_without_a_header(tmp_path, name, caplog):
    """With a number as its label, as in a regression, a row is one."""
    dataset = DatasetConfig(file_format="tsv", column_names=("label", "text"))
    path, lines = tmp_path / name, ["a gorgeous, witty film", "well; it, drags", "short"]
    path.write_text("\n" + "\n".join(lines))
    assert not has_rows(path, dataset) and not has_columns(path, dataset)
    assert [*examples_of_file(path, INPUTS[:1], dataset)] == [{"text": text} for text in ("", *lines)]
    assert [*texts_and_pairs(path, dataset)] == [(text, None) for text in ("", *lines)]
    assert "each line is a text, as the first is without '\\t'" in caplog.text
    for content in ("text\n", "text;label\n"):  # a header
        path.write_text(f"{content}{lines[0]}{content[4:]}")
        assert [*examples_of_file(path, INPUTS[:1], dataset)][0]["text"].startswith("a gorgeous")
    labelled = dataclasses.replace(dataset, labels=("ham", "spam"))
    for known, content, text in (
        (labelled, "ham,Hello you", "Hello you"),
        (labelled, "a gorgeous, witty film", lines[0]),
        (dataset, "3.5,Hello you", "Hello you"),
    ):
        path.write_text(content)
        assert [*examples_of_file(path, INPUTS[:1], known)] == [{"text": text}]
    path.write_text("ham\ta gorgeous, witty film\n")
    assert [*examples_of_file(path, INPUTS[:1], dataset)] == [{"text": lines[0]}]
    path.write_text("ham\tone\na text\n")
    with pytest.raises(ValueError, match="line 2: 1 columns where 2") as error:
        [*examples_of_file(path, INPUTS[:1], dataset)]
    assert "such as .txt" not in str(error.value)


def test_lines_keep_their_blanks_which_are_tokens_of_byte_level_bpe(tmp_path):
    path = tmp_path / "texts.txt"
    for end in ("\n", "\r\n"):
        path.write_bytes(f" a b {end}{end} a ||| b {end}".encode())
        assert list(texts_and_pairs(path)) == [(" a b ", None), ("", None), ("a", "b")]


def test_texts_and_pairs_of_a_table_have_a_text_in_each_row(tmp_path):
    table = pa.table({"text": ["a", "b"], "text_pair": ["c", None]})
    path = write_parquet(tmp_path / "a.parquet", table)
    assert list(texts_and_pairs(path)) == [("a", "c"), ("b", None)]
    path = write_parquet(tmp_path / "b.parquet", pa.table({"text": ["a", None]}))
    with pytest.raises(ValueError, match="b.parquet row 2 has no text under 'text'; leave the row"):
        list(texts_and_pairs(path))
    with pytest.raises(ValueError, match=r"has the columns \['body'"):
        texts_and_pairs(write_parquet(tmp_path / "c.parquet", pa.table({"body": ["a"]})))


@pytest.mark.parametrize("read", [texts_and_pairs, lambda path: examples_of_file(path, [("text",)])])
def test_lines_that_hold_more_than_a_text_are_said(tmp_path, caplog, read):
    path = tmp_path / "texts.txt"
    for line, what in (
        ('{"text": "a"}', "a JSON object"),
        ('["a", "b"]', "a JSON list"),
        ("__label__2 Great CD: lovely", "a text behind its label"),
        ("[sic] __label__ is fastText's", ""),
        ('"ID";"Text"', "a header"),
        ("a text, an id", ""),
    ):
        path.write_text(f"{line}\n")
        assert len(list(read(path))) == 1
        assert len(caplog.messages) == bool(what)
        assert not what or f"{path} line 1 is {what}, and is read as a text" in caplog.text
        caplog.clear()


def test_a_label_before_a_tab_is_said_where_no_second_text_is_read(tmp_path, caplog):
    path = tmp_path / "texts.txt"
    path.write_text("a text\twith a tab\ngood film\n")
    assert len(list(examples_of_file(path, [("text",)]))) == 2 and not caplog.text
    path.write_text("pos\tgood film\nneg\tbad film\n")
    assert [*examples_of_file(path, [("text",)])] == [{"text": "pos\tgood film"}, {"text": "neg\tbad film"}]
    assert "lines with a word, a tab and a text are read as one text" in caplog.text


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson", "a.JSON"])
def test_texts_and_pairs_of_json_lines(tmp_path, name):
    (tmp_path / name).write_text('{"text": "a", "text_pair": "c", "n": 1}\n{"text": "b"}\n')
    assert list(texts_and_pairs(tmp_path / name)) == [("a", "c"), ("b", None)]
    (tmp_path / name).write_text('{"text": "a"}\n{"text": 5}\n')
    with pytest.raises(ValueError, match="row 2 has no text under 'text'"):
        list(texts_and_pairs(tmp_path / name))
    (tmp_path / name).write_text('{"txt": "a"}\n')
    with pytest.raises(ValueError, match=r"line 1 has the columns \['txt'\].* Did you mean 'txt'"):
        list(texts_and_pairs(tmp_path / name))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "body,text,other\na,x,c\nb,x,d\n"),
        ("a.jsonl", '{"text": "x", "body": "a", "other": "c"}\n{"body": "b", "other": "d"}\n'),
    ],
)
def test_texts_and_pairs_stand_in_the_columns_of_the_run(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    dataset = DatasetConfig(text="body", text_pair="other")
    assert list(texts_and_pairs(tmp_path / name, dataset)) == [("a", "c"), ("b", "d")]


def test_inputs_and_id_are_read_of_tables_and_cells_without_a_value_left_out(tmp_path):
    table = pa.table(
        {"id": [7, 8, 9], "text": ["a", "b", "c"], "text_pair": ["x", None, "z"], "label": [0, 1, 0]}
    )
    for kind, path in every_kind(tmp_path, table).items():
        assert count_rows(path) == 3, kind
        assert list(examples_from_columns(path, INPUTS)) == [
            {"text": "a", "text_pair": "x", "id": 7},
            {"text": "b", "id": 8},
            {"text": "c", "text_pair": "z", "id": 9},
        ]


NULLS = {
    "a.jsonl": '{"text": "a", "text_pair": null, "id": 1}\n{"text": "a", "text_pair": "", "id": 2}\n',
    "a.csv": 'id,text,text_pair\n2,a,""\n',
}


def test_a_second_text_that_is_null_is_none_and_an_empty_one_is_a_text(tmp_path, caplog):
    """Wherever it stands; what is answered as one text has other numbers, so it is said."""
    alone, empty = {"text": "a"}, {"text": "a", "text_pair": ""}
    for name, content in NULLS.items():
        (tmp_path / name).write_text(content)
    table = pa.table({"text": ["a", "a"], "text_pair": [None, ""], "id": [1, 2]})
    files = [tmp_path / "a.jsonl", *every_kind(tmp_path, table).values()]
    for path in files:
        expected = [alone | {"id": 1}, empty | {"id": 2}]
        assert list(examples_of_file(path, INPUTS)) == expected
        assert f"{path}: examples whose text_pair is null are read as one text alone" in caplog.text
    assert list(examples_of_file(tmp_path / "a.csv", INPUTS)) == [empty | {"id": "2"}]
    frame = {"text": ["a", "a", "a"], "text_pair": [None, float("nan"), ""]}
    rows = [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]
    assert to_examples(frame, INPUTS).listed == to_examples(rows, INPUTS).listed == [alone, alone, empty]


@pytest.mark.parametrize("number", ["NaN", "[NaN]", "-Infinity"])
def test_an_id_that_json_does_not_have_is_refused_where_it_is_read(tmp_path, number):
    path = tmp_path / "a.jsonl"
    path.write_text(f'{{"text": "a", "id": 1}}\n{{"text": "a", "id": {number}}}\n')
    with pytest.raises(ValueError, match="a.jsonl line 2: id holds NaN or infinity"):
        list(examples_of_file(path, INPUTS))
    if "[" not in number:
        table = pa.table({"text": ["a"], "id": [float(number)]})
        with pytest.raises(ValueError, match="row 1: id holds NaN or infinity"):
            list(examples_of_file(write_parquet(tmp_path / "a.parquet", table), INPUTS))


def test_a_whole_row_of_a_table_has_dates_and_times_as_python_writes_them(tmp_path):
    summer = datetime.timezone(datetime.timedelta(hours=2))
    times = {
        "day": datetime.date(2024, 2, 29),
        "clock": datetime.time(9, 5, 0, 250),
        "local": datetime.datetime(2024, 2, 29, 9, 5),
        "instant": datetime.datetime(2024, 7, 1, 1, 30, 0, 7, summer),
    }
    table = pa.Table.from_pylist([{"text": "a"} | times, {"text": "b"}])
    local = table.schema.get_field_index("local")
    table = table.set_column(local, "local", table["local"].cast(pa.timestamp("ns")))  # as pandas writes it
    for path in every_kind(tmp_path, table).values():
        row, empty = whole_rows(path, INPUTS)
        assert row.pop("text") == "a" and empty == dict.fromkeys(times) | {"text": "b"}
        read = {name: type(time).fromisoformat(row[name]) for name, time in times.items()}
        assert read == times and row["local"] == times["local"].isoformat()


def test_decimals_stay_the_numbers_that_they_are(tmp_path):
    """Databases write whole numbers as DECIMAL(38, 0): as floats these ids were others."""
    numbers = [1234567890123456789, None, 42]
    prices = [Decimal("19.90"), Decimal("-0.05"), None]
    table = pa.table({
        "text": ["a", "b", "c"],
        "id": pa.array(numbers, pa.decimal128(38, 0)),
        "price": pa.array(prices, pa.decimal128(10, 2)),
    })  # fmt: skip
    for path in every_kind(tmp_path, table).values():
        rows = list(whole_rows(path, INPUTS))
        assert [row["id"] for row in rows] == numbers and type(rows[0]["id"]) is int
        assert [row["price"] for row in rows] == ["19.90", "-0.05", None]
        assert [row.get("id") for row in examples_from_columns(path, INPUTS)] == numbers
        assert number_label(rows[0], DatasetConfig(label="price"), "row 1") == 19.9
        assert class_label(dict(rows[2]), DatasetConfig(label="id"), "row 3") == "42"
        assert rows == list(data_in_memory.read_rows(table, "the data"))


@pytest.mark.parametrize("number", ["1E+5000", "-1E+999999999", "1E-999999999"])
def test_a_decimal_beyond_floats_stays_its_text(number):
    """An int has 4300 digits at most, and a billion zeros would be written first."""
    assert plain_value(Decimal(number)) == number


def test_every_kind_of_nan_is_nan():
    assert all(math.isnan(plain_value(Decimal(number))) for number in ("NaN", "sNaN", "-NaN12"))


def test_columns_that_a_whole_row_cannot_have_are_named(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", pa.table({"text": ["a"], "picture": [b"\x89PNG"]}))
    with pytest.raises(ValueError, match="row 1 has text in 'picture' that is not UTF-8"):
        list(whole_rows(path, INPUTS))
    texts = pa.Table.from_arrays([pa.array(["a"])] * 2, names=["text", "text"])
    path = write_parquet(tmp_path / "texts.parquet", texts)
    with pytest.raises(ValueError, match="texts.parquet has 2 columns 'text'; give each"):
        list(examples_from_columns(path, INPUTS))
    twice = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["text", "note", "note"])
    with pytest.raises(ValueError, match="several columns 'note'"):
        list(whole_rows(write_parquet(tmp_path / "b.parquet", twice), INPUTS))
    (tmp_path / "excel.csv").write_text(";text;;\n7;Good;;\n")  # of cells that were emptied
    assert list(whole_rows(tmp_path / "excel.csv", INPUTS)) == [{"": "7", "text": "Good"}]


def test_files_of_a_table_may_have_other_columns_each(tmp_path):
    tables = [
        {"body": ["x"], "id": [1]},
        {"text": ["y"], "text_pair": ["z"]},
        {"text": pa.array([], pa.string())},
    ]
    for number, columns in enumerate(tables):
        write_parquet(tmp_path / f"b-{number}.parquet", pa.table(columns))
    pattern, dataset = tmp_path / "b-*.parquet", DatasetConfig(text="body")
    expected = [{"text": "x", "id": 1}, {"text": "y", "text_pair": "z"}]
    assert list(examples_of_file(pattern, INPUTS, dataset)) == expected
    assert list(whole_rows(pattern, INPUTS, dataset)) == [{"body": "x", "id": 1}, expected[1]]
    columns = {"note": ["n"], "body": ["x"], "text": [1.5], "a": ["b"]}
    write_parquet(tmp_path / "a.parquet", pa.table(columns))
    assert [[*row] for row in whole_rows(tmp_path / "a.parquet", INPUTS, dataset)] == [[*columns]]
    for number in (4, 5):  # what is not read may hold what is no text
        columns = {"text": ["y"]} if number == 5 else {"body": ["x"], "text": [b"\x89PNG"]}
        write_parquet(tmp_path / f"c-{number}.parquet", pa.table(columns))
    read = list(examples_of_file(tmp_path / "c-*.parquet", INPUTS, dataset))
    assert read == [{"text": "x"}, {"text": "y"}]
    write_parquet(tmp_path / "b-3.parquet", pa.table({"text": ["y"], "text_pear": ["z"]}))
    with pytest.raises(ValueError, match="b-3.parquet has a column 'text_pear', which is not read"):
        list(examples_of_file(pattern, INPUTS, dataset))


@pytest.mark.parametrize("header", ["question,context,context", "context,question,id,id"])
def test_an_input_that_two_columns_have_is_refused(tmp_path, header):
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n{','.join(header.split(','))}\n")
    with pytest.raises(ValueError, match=f"has 2 columns '{header.split(',')[-1]}'"):
        list(examples_of_file(path, [("question", "context")]))


def test_whole_rows_are_cut_as_those_that_are_answered(tmp_path, caplog):
    path, inputs = tmp_path / "a.csv", [("question", "context")]
    path.write_text('question;context;note, mine\nWho?;"It was I; Bo, she said.";n\n')
    example = {"question": "Who?", "context": "It was I; Bo, she said."}
    assert list(examples_from_columns(path, inputs)) == [example]
    assert list(rows_and_examples(path, inputs)) == [(example | {"note, mine": "n"}, example)]


CONTENTS = {
    "tsv": b"body\tlabel\nb\tham\n",
    "csv": b'body,label\n"b",ham\n',
    "jsonl": b'{"body": "b", "text": "b", "label": "ham"}\n',
}


@pytest.mark.parametrize("file_format", [*CONTENTS, "parquet"])
def test_a_name_without_a_format_has_that_of_the_run(tmp_path, file_format, caplog):
    """SICK's files are TSV and end in .txt."""
    dataset, path = DatasetConfig(text="body", file_format=file_format), tmp_path / "test.txt"
    if file_format == "parquet":
        write_parquet(path, pa.table({"body": ["b"], "label": ["ham"]}))
    else:
        path.write_bytes(CONTENTS[file_format])
    is_json = file_format == "jsonl"
    assert has_columns(path, dataset) is not is_json
    [example] = examples_of_file(path, INPUTS, dataset)
    assert example["text"] == "b"
    assert list(texts_and_pairs(path, dataset)) == [("b", None)]
    assert is_json or list(whole_rows(path, INPUTS, dataset)) == [{"body": "b", "label": "ham"}]
    assert is_json or count_rows(path, dataset) == 1
    assert f"test.txt is read as {file_format}, the dataset.file_format of the run" in caplog.text
    other = tmp_path / "other.csv"
    other.write_text("body\nb\n")
    assert list(examples_of_file(other, INPUTS, dataset)) == [{"text": "b"}]  # its name says more


def test_the_name_and_the_beginning_of_a_file_say_its_kind(tmp_path):
    """Above a setting of another kind; labelled files are read as those that are answered."""
    for name, content in CONTENTS.items():
        (tmp_path / f"rows.{name}").write_bytes(content)
    write_parquet(tmp_path / "rows.parquet", pa.table({"body": ["b"], "label": ["ham"]}))
    (tmp_path / "odd.csv").write_bytes(CONTENTS["jsonl"])  # its setting is right
    for file_format in ("csv", "tsv", "jsonl", "parquet"):
        dataset = DatasetConfig(text="body", file_format=file_format)
        for path in sorted(tmp_path.glob("*.*")):
            if path.name == "odd.csv" and file_format != "jsonl":
                continue
            assert check_file("sequence_classification", path, dataset).num_examples == 1, (path, file_format)
            assert [example["text"] for example in examples_of_file(path, INPUTS, dataset)] == ["b"]
    dataset = DatasetConfig(text="body", file_format="tsv")
    assert check_file("sequence_classification", tmp_path / "rows.parq*", dataset).num_examples == 1


def test_a_line_without_a_tab_is_a_text_where_texts_are_answered_beside_pairs(tmp_path, caplog):
    """As a column or an object with a text alone: models of vectors take pairs first."""
    path = tmp_path / "lines.txt"
    path.write_text("He ran.\nHe ran.\tSo did I.\n")
    expected = [{"text": "He ran."}, {"text": "He ran.", "text_pair": "So did I."}]
    assert list(examples_of_file(path, INPUTS[::-1])) == expected
    assert "lines.txt: lines without a tab are read as one text alone" in caplog.text
    with pytest.raises(ValueError, match="line 1: expected two texts with a tab"):
        list(examples_of_file(path, INPUTS[1:]))


def test_no_line_has_another_key_for_a_text(tmp_path):
    """Programs leave out the keys of what is null."""
    path, dataset = tmp_path / "a.jsonl", DatasetConfig(text="body")
    path.write_text('{"text": "head", "body": "a"}\n{"body": "b"}\n')
    assert [example["text"] for example in examples_of_file(path, INPUTS, dataset)] == ["a", "b"]
    both, alone = '{"text": "head", "body": "a"}\n', '{"text": "head"}\n'
    for lines in (both + alone, alone + both):
        path.write_text(lines)
        with pytest.raises(ValueError, match="line 2: some lines have 'text' beside 'body'"):
            list(examples_of_file(path, INPUTS, dataset))


def test_blank_lines_between_objects_are_none(tmp_path):
    """Training reads the same file."""
    path = tmp_path / "a.jsonl"
    path.write_text('\n{"text": "a"}\n  \n{"text": "b"}\n\n')
    assert [example["text"] for example in examples_of_file(path, INPUTS)] == ["a", "b"]
    assert list(texts_and_pairs(path)) == [("a", None), ("b", None)]


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.csv"])
@pytest.mark.parametrize("encoding", ["cp1252", "utf-8"])
def test_the_encoding_of_the_run_is_that_of_every_file_of_text(tmp_path, name, encoding, caplog):
    path, dataset = tmp_path / name, DatasetConfig(encoding="cp1252")
    content = {"a.txt": "schön\n", "a.jsonl": '{"text": "schön"}\n', "a.csv": "text\nschön\n"}[name]
    path.write_text(content, encoding=encoding)
    assert list(examples_of_file(path, INPUTS, dataset)) == [{"text": "schön"}]
    assert list(texts_and_pairs(path, dataset)) == [("schön", None)]
    said = f"{path} is UTF-8, and is read so in spite of dataset.encoding='cp1252'"
    assert (said in caplog.text) is (encoding == "utf-8")


@pytest.mark.parametrize("inputs", [INPUTS, INPUTS[::-1], INPUTS[:1]])
def test_a_line_with_a_tab_is_a_pair_where_pairs_are_answered(tmp_path, inputs, caplog):
    path = tmp_path / "lines.txt"
    path.write_text("He ran.\tSo did I.\n")
    [example] = examples_of_file(path, inputs)
    texts = ["He ran.\tSo did I."] if inputs == INPUTS[:1] else ["He ran.", "So did I."]
    assert list(example.values()) == texts
    assert ("lines.txt: lines with one tab are read as two texts" in caplog.text) is (inputs == INPUTS)


def test_a_pattern_without_endings_has_the_format_of_the_run(tmp_path):
    """In training, evaluation and prediction."""
    for number in range(2):
        write_parquet(tmp_path / f"part-{number}", pa.table({"text": [f"text {number}"], "label": ["ham"]}))
    pattern, dataset = tmp_path / "part-*", DatasetConfig(file_format="parquet")
    assert LabelledPaths(train_file=pattern).files == [pattern]
    assert [row.text for row in read_rows(pattern, dataset)] == ["text 0", "text 1"]
    assert has_columns(pattern, dataset) and count_rows(pattern, dataset) == 2
    assert list(examples_of_file(pattern, INPUTS, dataset)) == [{"text": "text 0"}, {"text": "text 1"}]
    with pytest.raises(ValueError, match="matches part-0, part-1; a pattern is for .parquet"):
        has_columns(pattern, DatasetConfig(file_format="csv"))
    write_parquet(tmp_path / "b.parquet", pa.table({"text": ["b"]}))
    other = DatasetConfig(file_format="csv")
    assert list(examples_of_file(tmp_path / "b.parq*", INPUTS, other)) == [
        {"text": "b"}
    ]  # its name says more


@pytest.mark.parametrize("file_format", ["csv", "tsv", "jsonl", "parquet"])
def test_an_error_says_why_lines_are_read_in_the_format_of_the_run(tmp_path, file_format):
    path, dataset = tmp_path / "lines", DatasetConfig(file_format=file_format)
    path.write_text("a text\nanother text\n")
    for read in (lambda: examples_of_file(path, INPUTS, dataset), lambda: texts_and_pairs(path, dataset)):
        with pytest.raises(
            ValueError, match=f"lines is read as {file_format}, the dataset.file_format of the run"
        ):
            list(read())


def test_tabs_are_read_with_the_quotes_of_the_run(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('text\tlabel\n"a ""b"""\tham\n')
    dataset = DatasetConfig(file_format="csv", delimiter="\t")
    assert list(examples_from_columns(path, INPUTS, dataset)) == [{"text": 'a "b"'}]


@pytest.mark.parametrize(
    ("dataset", "text"),
    [
        (DatasetConfig(file_format="csv"), 'a "b"'),  # of a .tsv with quotes, as kbert advises
        (DatasetConfig(file_format="tsv"), '"a ""b"""'),
        (DatasetConfig(delimiter=";"), '"a ""b"""'),  # of Excel's .csv
        (DatasetConfig(), '"a ""b"""'),
    ],
)
def test_quotes_of_a_tsv_file_are_those_of_labelled_ones(tmp_path, dataset, text):
    path = tmp_path / "a.tsv"
    path.write_text('text\tlabel\n"a ""b"""\tham\n')
    assert [row.text for row in read_rows(path, dataset)] == [text]
    assert [*examples_from_columns(path, INPUTS, dataset)] == [{"text": text}]
    path.write_text("text\na, b\n")
    assert [*examples_from_columns(path, INPUTS, dataset)] == [{"text": "a, b"}]
    bare = dataclasses.replace(dataset, column_names=("label", "text"))
    path.write_text("ham\ta, b\n")
    assert [*examples_from_columns(path, INPUTS, bare)] == [{"text": "a, b"}]


def test_words_that_a_column_puts_together_to_sentences_are_no_texts(tmp_path):
    dataset = DatasetConfig(text="Word", label="Tag", sentence="Sentence #")
    columns = {"Sentence #": ["1", "1"], "Word": ["EU", "said"], "Tag": ["B-org", "O"]}
    path = write_csv(tmp_path / "ner.csv", columns, zip(*columns.values(), strict=True))
    table = write_parquet(tmp_path / "ner.parquet", pa.table(columns))
    (tmp_path / "ner.jsonl").write_text('{"Sentence #": 1, "Word": "EU"}\n')
    for read in (
        lambda: examples_from_columns(path, INPUTS, dataset),
        lambda: examples_from_columns(table, INPUTS, dataset),
        lambda: examples_from_table(columns, INPUTS, dataset),
        lambda: texts_and_pairs(path, dataset),
        lambda: texts_and_pairs(tmp_path / "ner.jsonl", dataset),
    ):
        with pytest.raises(ValueError, match="has a word in each row, as the column 'Sentence #' says"):
            list(read())
    texts = write_csv(tmp_path / "texts.csv", ("Word",), [("EU said",)])
    assert list(examples_from_columns(texts, INPUTS, dataset)) == [{"text": "EU said"}]


def test_a_standard_input_without_a_line_is_an_error(monkeypatch):
    """As of `docker run` without -i: nothing was answered, without a word, into a new output file."""
    for content, lines in ((b"a\nb", ["a", "b"]), (b"\n", [""])):
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        assert list(read_standard_input()) == lines
    with pytest.raises(
        ValueError, match="standard input is empty; write a text on each line, or give --text"
    ):
        next(read_standard_input())
