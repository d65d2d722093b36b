"""Tables give what JSON lines of the same rows give, for every task, and their errors name file and row."""

import dataclasses
import itertools
import json
import os
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kbert.config import DatasetConfig
from kbert.experiments.labelled_file import LabelledFile
from kbert.input_pipelines.data_files import data_as_files
from kbert.input_pipelines.labelled_files import read_rows, stream_rows
from kbert.input_pipelines.tables.table_rows import column_names
from kbert.input_pipelines.tables.table_rows import read_rows as read_table_rows
from kbert.tasks import TASKS
from kbert.tasks.file_columns import check_file
from kbert.tasks.files import ONE_LABEL_FILES
from tests.kbert.input_pipelines.tables.written_tables import (
    every_kind,
    with_features,
    write_lines,
    write_parquet,
    write_shards,
    write_stream,
)

TEXT = DatasetConfig()
NAMES = {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}, "text": {"_type": "Value"}}

# For each task: how its file is read, and rows.
TASK_ROWS = {
    "sequence_classification": (
        DatasetConfig(text="a", text_pair="b", label="y"),
        [{"a": f"one {n} é😀", "b": "" if n == 2 else "two", "y": n % 2} for n in range(5)],
    ),
    "sequence_regression": (
        DatasetConfig(text_pair="other"),
        [{"text": f"{n}", "other": "o", "label": n / 4} for n in range(5)],
    ),
    "multi_label_classification": (
        TEXT,
        [{"text": f"{n}", "label": [["a"], [], ["b", "a"], ["c"]][n]} for n in range(4)],
    ),
    "multiple_choice": (
        DatasetConfig(choices=("x", "y"), text_pair="start"),
        [{"text": f"{n}", "start": "so", "x": "jumps", "y": "walks", "label": n % 2} for n in range(4)],
    ),
    "multiple_negatives_ranking": (
        DatasetConfig(text_pair="right", negatives=("wrong",)),
        [{"text": f"{n}", "right": f"r {n}", "wrong": f"w {n}"} for n in range(4)],
    ),
    "cosine_similarity": (
        DatasetConfig(text_pair="other"),
        [{"text": f"{n}", "other": f"{n + 1}", "label": n * 0.5} for n in range(4)],
    ),
    "token_classification": (
        DatasetConfig(document="doc"),
        [{"text": ["EU", f"said{n}"], "label": ["B-ORG", "O"], "doc": "ab"[n > 1]} for n in range(4)],
    ),
}


def plain(example):
    """An example without objects that are equal only to themselves."""
    return [repr(cell) for cell in example]


@pytest.mark.parametrize("task", TASK_ROWS)
def test_every_task_reads_of_a_table_what_it_reads_of_json_lines(tmp_path, task):
    dataset, rows = TASK_ROWS[task]
    read = TASKS[task].files.read_examples
    lines, tables = (
        write_lines(tmp_path / "rows.jsonl", rows),
        every_kind(tmp_path, pa.Table.from_pylist(rows)),
    )
    for with_labels in (True, False):
        expected = [plain(one) for one in read(lines, dataset, with_labels)]
        assert len(expected) == len(rows)
        for kind, path in tables.items():
            assert [plain(one) for one in read(path, dataset, with_labels)] == expected, kind


def test_spans_of_a_text_and_sentences_that_are_documents_of_their_own(tmp_path):
    rows = [{"text": "Peter went", "label": [{"start": 0, "end": 5, "type": "PER"}]}] * 3
    read = TASKS["token_classification"].files.read_examples
    path = write_shards(tmp_path / "hub", pa.Table.from_pylist(rows))
    sentences = list(read(path, TEXT))
    assert [one.labels for one in sentences] == [("B-PER", "O")] * 3
    # Row 1 of the first shard, and rows 1 and 2 of the second.
    assert len({id(one.document) for one in sentences}) == 3
    (without, *_) = read(path, TEXT, with_labels=False)
    assert without.words == ("Peter", "went") and without.labels is None


def test_integers_with_names_in_the_schema_are_these_names(tmp_path):
    table = with_features(pa.table({"text": ["a", "b", "c"], "label": [1, 0, 1]}), NAMES)
    for kind, path in every_kind(tmp_path, table).items():
        assert [row.label for row in read_rows(path, TEXT)] == ["pos", "neg", "pos"], kind


def test_the_classes_of_a_schema_are_the_labels_in_its_order(tmp_path, caplog):
    """F1 of QQP is about class 1; and a class that no row has is one."""
    names = ["not_duplicate", "duplicate", "a third"]
    features = {"label": {"names": names, "_type": "ClassLabel"}}
    table = with_features(pa.table({"text": ["a", "b", "c"], "label": [1, 0, 1]}), features)
    with data_as_files({"the data": table}) as (in_memory,):
        for kind, path in (every_kind(tmp_path, table) | {"memory": in_memory}).items():
            assert LabelledFile(path, ONE_LABEL_FILES, TEXT).dataset.labels == tuple(names), kind
            assert check_file("sequence_classification", path, TEXT).dataset.labels == tuple(names), kind
    assert "the data: no row has the classes ['a third']" in caplog.text
    one = write_parquet(tmp_path / "one.parquet", table.slice(0, 1))
    assert LabelledFile(one, ONE_LABEL_FILES, TEXT).dataset.labels == ("duplicate",)  # refused later


def test_numbers_that_a_part_of_the_files_names_are_no_further_classes(tmp_path):
    """Of a shard that pandas wrote: the classes were 0, 1, neg and pos."""
    table = pa.table({"text": ["a", "b"], "label": [0, 1]})
    write_parquet(tmp_path / "a-0.parquet", with_features(table, NAMES))
    write_parquet(tmp_path / "a-1.parquet", table)
    with pytest.raises(
        ValueError, match=r"a-1.parquet does not name the classes of 'label' in its schema, which"
    ):
        LabelledFile(tmp_path / "a-*.parquet", ONE_LABEL_FILES, TEXT)
    write_parquet(tmp_path / "a-1.parquet", pa.table({"text": ["a", "b"], "label": ["neg", "pos"]}))
    assert LabelledFile(tmp_path / "a-*.parquet", ONE_LABEL_FILES, TEXT).dataset.labels == ("neg", "pos")


def test_labels_that_are_listed_as_the_numbers_of_named_classes_are_explained(tmp_path):
    """The TSV of GLUE has the numbers, the table of the hub has names: that it holds 0 was nowhere said."""
    path = write_parquet(
        tmp_path / "a.parquet", with_features(pa.table({"text": ["a"], "label": [0]}), NAMES)
    )
    with pytest.raises(
        ValueError, match=r"schema names the numbers in 'label': \{0: 'neg', 1: 'pos'\}. List th"
    ):
        read_rows(path, DatasetConfig(labels=("0", "1")))
    with pytest.raises(ValueError, match="label 'neg' is not among the labels .*'pos'") as error:
        read_rows(path, DatasetConfig(labels=("no", "pos")))
    assert "schema" not in str(error.value)


@pytest.mark.parametrize("kind", ["List", "once"])
def test_names_of_the_classes_in_lists(tmp_path, kind):
    inside = {"names": ["O", "B-PER"], "_type": "ClassLabel"}
    feature = [inside] if kind == "once" else {"feature": inside, "_type": kind}
    table = pa.table({"text": [["Peter", "ran"]], "label": [[1, 0]]})
    path = write_parquet(tmp_path / "a.parquet", with_features(table, {"label": feature}))
    (sentence,) = TASKS["token_classification"].files.read_examples(path, TEXT)
    assert sentence.labels == ("B-PER", "O")


def test_sentences_without_words_are_left_out_by_a_setting_of_every_format(tmp_path):
    """As some of ncbi_disease are; what is not read, such as a number, is no reason to keep one."""
    rows = [{"id": f"{n}", "text": words, "label": ["O"] * len(words)} for n, words in enumerate((["a"], []))]
    read = TASKS["token_classification"].files.read_examples
    paths = write_lines(tmp_path / "a.jsonl", rows), write_parquet(tmp_path / "a", pa.Table.from_pylist(rows))
    for path, file_format in zip(paths, ("jsonl", "parquet"), strict=True):
        dataset = DatasetConfig(file_format=file_format)
        with pytest.raises(ValueError, match="1 row.s. are empty .*leave them out by dataset.skip_empty_ro"):
            list(read(path, dataset))
        (sentence,) = read(path, dataclasses.replace(dataset, skip_empty_rows=True))
        assert sentence.words == ("a",)


def test_a_column_that_is_asked_for_and_holds_no_plain_values_is_named(tmp_path):
    """Also beside one that the file lacks and need not have, such as the label of pairs."""
    read = TASKS["multiple_negatives_ranking"].files.read_examples
    table = pa.table({"text": ["a"], "right": ["b"], "wrong": [[b"c"]]})
    path = write_parquet(tmp_path / "a.parquet", table)
    with pytest.raises(ValueError, match="the column 'wrong' holds list<element: binary>; expected"):
        list(read(path, DatasetConfig(text_pair="right", negatives=("wrong",))))


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()])
def test_texts_that_no_program_marked_as_such_are_texts(tmp_path, kind):
    """Impala, Hive and old Sparks write them so; in memory they were texts, in files refused."""
    texts = ["good", "sch\N{LATIN SMALL LETTER O WITH DIAERESIS}n", "bad"]
    table = pa.table({"text": pa.array(map(str.encode, texts), kind), "label": [b"pos", b"pos", b"neg"]})
    for name, path in every_kind(tmp_path, table).items():
        rows = read_rows(path, TEXT)
        assert [row.text for row in rows] == texts and [row.label for row in rows][1:] == ["pos", "neg"], name
    wrong = table.set_column(0, "text", pa.array([b"a", b"b", b"\xff"], kind))
    with pytest.raises(ValueError, match="row 3 has text in 'text' that is not UTF-8"):
        read_rows(write_parquet(tmp_path / "wrong.parquet", wrong), TEXT)


def test_a_teachers_scores_are_read_of_every_kind_of_list_or_named(tmp_path):
    """A dev file would lose them without a word, for rows need not have any."""
    read = TASKS["late_interaction"].files.read_examples
    dataset = DatasetConfig(text_pair="right", negatives=("wrong",), scores="scores")
    rows = {"text": ["a", "b"], "right": ["c", "d"], "wrong": ["e", "f"]}
    scores = [[0.75, 0.5], [2, -1]]
    decimals = [list(map(Decimal, row)) for row in scores]
    tables = [
        pa.table(rows | {"scores": pa.array(values, kind)})
        for values, kind in (
            (scores, pa.list_(pa.float32())),
            (scores, pa.list_view(pa.float32())),
            (decimals, pa.list_(pa.decimal128(3, 2))),
        )
    ]
    for number, table in enumerate(tables):
        path = write_stream(tmp_path / f"{number}.arrow", table)
        assert [list(example.teacher_scores) for example in read(path, dataset)] == scores
    table = pa.table(rows | {"scores": [[b"1", b"2"]] * 2})
    path = write_parquet(tmp_path / "a.parquet", table)
    with pytest.raises(ValueError, match="the column 'scores' holds list<element: binary>; expected"):
        list(read(path, dataset))


@pytest.mark.parametrize("names", [["text", "right", "wrong", "wrong"], ["text", "right", "wrong", "s", "s"]])
def test_columns_of_texts_and_scores_that_stand_twice_are_named(tmp_path, names):
    """Of two with one name, CSV's last would be read."""
    table = pa.Table.from_arrays([pa.array(["a"])] * len(names), names=names)
    write_parquet(tmp_path / "rows.parquet", table)
    (tmp_path / "rows.csv").write_text(f"{','.join(names)}\n{','.join('a' * len(names))}\n")
    dataset = DatasetConfig(text_pair="right", negatives=("wrong",), scores="s")
    for ending in ("parquet", "csv"):
        with pytest.raises(ValueError, match=rf"rows.{ending}(.|\n)*has 2 columns '{names[-1]}'; its"):
            list(TASKS["sparse_embedding"].files.read_examples(tmp_path / f"rows.{ending}", dataset))


@pytest.mark.parametrize(
    ("damaged", "sentence"),
    [
        ({"info": [1]}, "info should be an object, received .1."),
        ({"info": {"features": "label"}}, "features should be an object, received 'label'"),
        ({"info": {"features": {"label": {"names": 5, "_type": "ClassLabel"}}}}, None),
        ({"info": {"features": {"label": {"names": "ab", "_type": "ClassLabel"}}}}, None),
        ({"info": []}, "info should be an object"),
        ({"info": None}, None),
        ([], None),
    ],
)
def test_a_schema_with_damaged_names_of_classes_is_named_or_has_none(tmp_path, damaged, sentence):
    table = pa.table({"text": ["a", "b"], "label": [1, 0]})
    table = table.replace_schema_metadata({"huggingface": json.dumps(damaged)})
    path = write_parquet(tmp_path / "a.parquet", table)
    if sentence:
        with pytest.raises(ValueError, match=f"a.parquet: the features in its schema: {sentence}"):
            read_rows(path, TEXT)
    else:
        assert [row.label for row in read_rows(path, TEXT)] == ["1", "0"]


def test_rows_are_read_as_they_are_asked_for(tmp_path):
    """What is wrong with the next shard is not known yet, and a row group is never in memory as a whole."""
    size = 20_000
    texts = [os.urandom(200).hex() for _ in range(size)]  # 8 MB that do not compress, in one row group
    table = pa.table({"text": texts, "label": ["x"] * size})
    folder = tmp_path / "hub"
    folder.mkdir()
    write_parquet(folder / "a-0.parquet", table, row_group_size=size, use_dictionary=False)
    (folder / "a-1.parquet").write_bytes(b"broken")
    before, most, rows = pa.total_allocated_bytes(), 0, stream_rows(folder / "a-*.parquet", TEXT)
    for number, row in enumerate(itertools.islice(rows, size)):
        assert number % 5000 or row.text == texts[number]
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < 4_000_000
    with pytest.raises(ValueError, match="a-1.parquet is not a whole parquet file"):
        next(rows)


def test_what_pyarrow_says_of_damage_is_shown_in_one_line(tmp_path):
    """It quotes the byte that it found."""
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1\x1f" + (1).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(ValueError, match="is not a whole parquet file") as error:
        column_names(path, "parquet")
    assert str(error.value).isprintable()


def test_rows_that_pyarrow_leaves_out_are_damage(tmp_path, monkeypatch):
    """It ends without a word where the length of a page is not what it should be."""
    path = write_parquet(tmp_path / "a.parquet", pa.table({"text": ["a", "b"]}))
    read = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile, "iter_batches", lambda *args, **kwargs: [each[:1] for each in read(*args, **kwargs)]
    )
    with pytest.raises(ValueError, match="is not a whole parquet file .1 of its 2 rows can be read.; make"):
        list(read_table_rows(path, "parquet", ["text"]))


def test_a_table_without_columns_has_none(tmp_path):
    path = write_parquet(tmp_path / "a.parquet", pa.table({}))
    assert column_names(path, "parquet") == [] == list(read_table_rows(path, "parquet", []))
