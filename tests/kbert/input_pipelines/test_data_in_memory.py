"""Tables of every library give the rows that a list of dicts gives."""

import contextlib
import datetime
import json
import tempfile
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf

from kbert.config import DatasetConfig
from kbert.input_pipelines.data_files import data_as_files
from kbert.input_pipelines.data_in_memory import column_names, plain_values, read_rows
from kbert.input_pipelines.labelled_files import read_rows as labelled_rows
from kbert.input_pipelines.tables.table_rows import named_class
from kbert.input_pipelines.unlabelled_files import examples_from_table
from kbert.tasks.question_answering.squad_files import Answer, Question, read_questions
from tests.kbert.input_pipelines.frames import Column, Frame

COLUMNS = {"text": ["a", "ü", "c"], "label": [1, 0, 1]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


def pandas_table(columns):
    return pytest.importorskip("pandas").DataFrame(columns, index=[5, 9, 7])


def polars_table(columns):
    return pytest.importorskip("polars").DataFrame(columns)


def arrow_table(columns):
    return pytest.importorskip("pyarrow").table(columns)


def records_table(columns):
    return np.rec.fromarrays([np.array(values) for values in columns.values()], names=list(columns))


TABLES = {
    "dict": dict,
    "dict of columns": lambda columns: {name: Column(values) for name, values in columns.items()},
    "stand-in": Frame,
    "numpy": records_table,
    "pandas": pandas_table,
    "polars": polars_table,
    "pyarrow": arrow_table,
}


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_gives_its_rows_as_plain_values(kind):
    table = TABLES[kind](COLUMNS)
    rows = list(read_rows(table, "the data"))
    assert rows == ROWS and column_names(table) == list(COLUMNS)
    assert all(type(row["text"]) is str and type(row["label"]) is int for row in rows)


def test_rows_of_dicts_may_be_gone_through_once():
    assert list(read_rows(ROWS, "the data")) == list(read_rows(iter(ROWS), "the data")) == ROWS
    assert column_names(ROWS) is None and column_names(ROWS[0]) is None


def test_tables_that_are_still_to_be_made_or_chosen_are_refused():
    class Lazy(Frame):
        collect = None
        __getitem__ = None

    for data, sentence in (
        (Lazy({"text": ["a"]}), "the column 'text' of the data .*: give what its .collect\\(\\) returns."),
        (
            {"dev": Frame({"text": ["a"]}), "test": Frame({})},
            "tables 'dev', 'test' .*, such as data\\['dev'\\].",
        ),
    ):
        with pytest.raises(ValueError, match=sentence):
            list(read_rows(data, "the data"))


def test_a_dataset_without_an_end_is_refused():
    endless = tf.data.Dataset.from_tensor_slices({"text": ["a"]}).repeat()
    for data in (endless, {"text": endless}):
        with pytest.raises(ValueError, match="without an end.*leave repeat\\(\\) out"):
            list(read_rows(data, "the data"))
    assert list(read_rows(endless.take(2), "the data")) == [{"text": "a"}] * 2


def test_batches_of_rows_are_told_how_to_become_rows():
    rows = tf.data.Dataset.from_tensor_slices({"text": ["a", "b"], "label": [1, 2]})
    for data, sentence in (
        (rows, None),
        (rows.batch(2), r"as 'text', not a string: batches .*\.unbatch\(\)"),
    ):
        refused = pytest.raises(ValueError, match=sentence) if sentence else contextlib.nullcontext()
        with refused, data_as_files({"the data": data}) as (file,):
            assert len(labelled_rows(file, DatasetConfig())) == 2


@pytest.mark.parametrize(
    "part", ["file", "files", "articles", "article", "tuple", "frame", "columns", "paragraphs", "rows"]
)
def test_questions_are_taken_as_json_load_gives_them(part):
    answers = {"text": ["b"], "answer_start": [2]}
    paragraph = {
        "context": "a b",
        "qas": [{"id": "1", "question": "What?", "answers": [{"text": "b", "answer_start": 2}]}],
    }
    article = {"title": "t", "paragraphs": [paragraph]}
    data = {
        "file": {"data": [article], "version": "1.1"},
        "files": [{"data": [article]}],
        "articles": [{"title": "empty", "paragraphs": []}, article],
        "tuple": ({"title": "empty", "paragraphs": []}, article),
        "frame": {"title": ["t", "empty"], "paragraphs": [[paragraph], []]},
        "columns": {"data": [article], "version": ["1.1"]},
        "article": article,
        "paragraphs": [paragraph],
        "rows": [{"id": "1", "question": "What?", "context": "a b", "answers": answers}],
    }[part]
    with data_as_files({"the data": data}) as (file,):
        (question,) = read_questions(file)
    assert question == Question("1", "What?", "a b", (Answer("b", 2),))


def test_a_column_of_paragraphs_makes_no_articles():
    """MuSiQue has one; SQuAD's paragraphs hold a context and questions."""
    row = {"text": "a", "label": "x", "paragraphs": [{"title": "t", "paragraph_text": "p"}], "data": []}
    for data in ([row], [row | {"paragraphs": []}], {name: [cell] for name, cell in row.items()}):
        with data_as_files({"the data": data}) as (file,):
            assert [read.text for read in labelled_rows(file, DatasetConfig())] == ["a"]


def test_bytes_are_texts_in_utf_8():
    texts = ["a", "ü"]
    for data in (
        {"text": np.char.encode(texts, "utf-8")},
        [{"text": text.encode()} for text in texts],
        np.rec.fromarrays([np.char.encode(texts, "utf-8")], names=["text"]),
    ):
        assert [row["text"] for row in read_rows(data, "the data")] == texts
    data = {"the data": [{"text": b"\xff", "other": "b", "label": 1}]}
    with data_as_files(data) as (file,):
        assert [row.text for row in labelled_rows(file, DatasetConfig(text="other"))] == ["b"]
    with (
        pytest.raises(ValueError, match="row 1 of the data has .*bytes that are not UTF-8.* as 'text'"),
        data_as_files(data) as (file,),
    ):
        labelled_rows(file, DatasetConfig())


@pytest.mark.parametrize("kind", ["stand-in", "dict", "pyarrow"])
def test_values_inside_of_lists_and_dicts_are_plain_too(kind):
    """As pandas has SQuAD's answers, and whatever stands in columns that nobody reads."""
    cells = {
        "answers": ({"text": np.array(["a"], object), "start": np.array([3])}, {"text": ["a"], "start": [3]}),
        "scores": ([np.float32(0.5), np.int64(2)], [0.5, 2]),
        "prices": ([Decimal("0.90"), Decimal(3)], ["0.90", 3]),
        "nested": (np.array([np.array([1]), np.array([2, 3])], object), [[1], [2, 3]]),
        "keys": ({(1, 2): b"\xc3\xbc", 3: None}, {"(1, 2)": "ü", "3": None}),
    }
    if kind == "pyarrow":
        cells = {name: cells[name] for name in ("answers", "prices")}
        cells["prices"] = ([Decimal("0.90"), Decimal("3.00")], ["0.90", "3.00"])
    table = TABLES[kind]({name: [value] for name, (value, _) in cells.items()})
    (row,) = read_rows(table, "the data")
    assert row == {name: plain for name, (_, plain) in cells.items()}
    assert json.loads(json.dumps(row)) == row
    (row,) = read_rows([{name: value for name, (value, _) in cells.items()}], "the data")
    assert row == {name: plain for name, (_, plain) in cells.items()}


def test_columns_that_nobody_reads_are_left_alone():
    class Pictures(Frame):
        def __getitem__(self, name):
            assert name == "text", "an image would be decoded"
            return super().__getitem__(name)

    table = Pictures({"text": ["a"], "image": [object()]})
    assert list(read_rows(table, "the data", ["text"])) == [{"text": "a"}]
    assert examples_from_table(table, [("text",)]) == [{"text": "a"}]
    number = {"text": ["a"], "n": np.array(3)}
    assert list(read_rows(number, "the data", ["text"])) == [{"text": "a"}]


@pytest.mark.parametrize("kind", [set, frozenset])
def test_sets_of_labels_have_the_same_order_in_every_process(kind):
    """Else the same call, to go on with a run, would have other data."""
    labels = [f"label {number}" for number in range(20)]
    (row,) = read_rows([{"text": "a", "label": kind(labels)}], "the data")
    assert row["label"] == sorted(labels)


def test_what_is_missing_is_none():
    values = ["a", None, float("nan"), np.float64("nan")]
    assert [row["text"] for row in read_rows(Frame({"text": values}), "the data")] == ["a", None, None, None]


def test_columns_of_pandas_whatever_their_kind():
    pandas = pytest.importorskip("pandas")
    for kind in ("object", "string", "category"):
        column = pandas.Series(["b", "a", "b"], index=[3, 3, 8], dtype=kind)
        assert plain_values(column) == ["b", "a", "b"]
        (row,) = read_rows(pandas.DataFrame({"text": pandas.Series([None], dtype=kind)}), "the data")
        assert row == {"text": None}
    numbers = pandas.DataFrame({"label": pandas.array([1, None], dtype="Int64")})
    assert [row["label"] for row in read_rows(numbers, "the data")] == [1, None]


def test_numbers_of_classes_become_their_names():
    """The schema is that of Hugging Face's `datasets`."""
    pa = pytest.importorskip("pyarrow")
    feature = {"label": {"names": ["quiet", "loud"], "_type": "ClassLabel"}}
    table = pa.table({"label": [1, 0, -1]})
    named = table.replace_schema_metadata(
        {"huggingface": str({"info": {"features": feature}}).replace("'", '"')}
    )
    assert [row["label"] for row in read_rows(named, "the data")] == ["loud", "quiet", None]


@pytest.mark.parametrize("is_object", [False, True])
def test_numbers_in_lists_become_the_names_of_their_classes(is_object):
    """The features are those of a `datasets.Dataset`: lists are `[feature]` or objects that have it."""

    class Dataset(Frame):
        column_names = property(list)
        features = property(lambda table: {"text": SimpleNamespace(dtype="string"), "label": feature})

    names = SimpleNamespace(_type="ClassLabel", names=["quiet", "loud"])
    feature = SimpleNamespace(feature=names) if is_object else [names]
    rows = read_rows(Dataset({"text": ["a", "b"], "label": [[1, 0], []]}), "the data")
    assert [row["label"] for row in rows] == [["loud", "quiet"], []]


def test_classes_may_be_floats_or_already_their_names():
    names = ("quiet", "loud")
    values = [1.0, -1.0, float("nan"), None, "loud", [0, "loud"]]
    expected = ["loud", None, None, None, "loud", ["quiet", "loud"]]
    assert [named_class(value, names, "row 1") for value in values] == expected
    for wrong in (2, -2, 0.5, "LOUD", {"a": 1}):
        with pytest.raises(
            ValueError, match="^row 1 has the class .*, but the schema names 2, from 0 on: quiet, l"
        ):
            named_class(wrong, names, "row 1")


def test_what_json_has_no_type_for_is_as_in_tables_of_files_or_no_text():
    values = [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3), 1j, Path("a")]
    with data_as_files({"the data": [{"value": value} for value in values]}) as (file,):
        found = [json.loads(line)["value"] for line in file.read_text().splitlines()]
    assert found[:2] == ["2026-01-02", "2026-01-02T03:00:00"]
    assert found[2] == {"complex": "1j"} and isinstance(found[3], dict), "refused as a text and as a label"


def test_a_row_in_memory_gets_no_advice_about_lines():
    with (
        pytest.raises(ValueError, match="row 1 of the data") as error,
        data_as_files({"the data": [{"text": "a", "label": [1]}]}) as (file,),
    ):
        labelled_rows(file, DatasetConfig())
    assert "in each line" not in str(error.value)


def test_a_file_needs_no_temporary_folder(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryDirectory", None)
    with data_as_files({"the data": "a.csv", "others": None}) as paths:
        assert paths == ["a.csv", None]
