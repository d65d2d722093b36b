"""Which files a path names, and what is said where it names none."""

import json

import pyarrow as pa
import pytest

from kbert.config import DatasetConfig
from kbert.experiments.finetuning_data import LabelledPaths
from kbert.experiments.labelled_file import LabelledFile
from kbert.input_pipelines.tables.table_paths import find_table, source_digest, source_files
from kbert.manifest import digest
from kbert.tasks import TASKS
from tests.kbert.input_pipelines.tables.written_tables import (
    write_folder,
    write_lines,
    write_parquet,
    write_shards,
)

ROWS = [{"text": f"words {n}", "label": "ab"[n % 2]} for n in range(20)]
TABLE = pa.Table.from_pylist(ROWS)


def splits(folder):
    write_folder(folder / "train", TABLE)
    write_folder(folder / "test", TABLE)
    (folder / "dataset_dict.json").write_text('{"splits": ["train", "test"]}', encoding="utf-8")
    return folder


def test_a_file_that_is_no_table_stays_what_it_is(tmp_path):
    path = write_lines(tmp_path / "a.jsonl", ROWS)
    assert find_table(path) is None and source_files(path) == (path,)
    assert source_digest(path) == digest(path)
    assert find_table(write_parquet(tmp_path / "odd", TABLE), "parquet").file_format == "parquet"
    assert find_table(tmp_path / "odd") is None


def test_shards_are_read_by_name_in_order_and_those_of_a_folder_as_it_says(tmp_path):
    assert [one.name for one in source_files(write_shards(tmp_path / "hub", TABLE))] == [
        "train-00000-of-00002.parquet",
        "train-00001-of-00002.parquet",
    ]
    folder = write_folder(tmp_path / "saved", TABLE)
    state = json.loads((folder / "state.json").read_text())
    state["_data_files"].reverse()
    (folder / "state.json").write_text(json.dumps(state))
    assert [one.name for one in source_files(folder)][0] == "data-00001-of-00002.arrow"


def no_dataset(folder):
    folder.mkdir()
    return folder


def with_state(content):
    def make(folder):
        folder.mkdir()
        (folder / "state.json").write_text(content)
        return folder

    return make


REFUSED = {
    "several splits": (splits, r"data holds several splits; name one of them: \S+data/train, \S+data/test\."),
    "no such split": (
        lambda f: splits(f) / "dev",
        r"data holds no split 'dev'; name one of them: \S+train, ",
    ),
    "shards": (
        lambda f: write_shards(f, TABLE).parent,
        r"2 .parquet file\(s\); .* such as '\S+data/train\*.par",
    ),
    "no dataset": (
        no_dataset,
        "data is a folder, but no dataset: expected a labelled file, or a folder with",
    ),
    "no match": (
        lambda f: f / "train-*.parquet",
        r"no file matches \S+train-\*.parquet; in a shell, put the",
    ),
    "no file": (lambda f: f, "file .*data does not exist; expected"),
    "no state": (with_state("["), "state.json is not valid JSON"),
    "no names": (with_state('{"_data_files": [3]}'), "state.json names no files; expected"),
    "no shards": (with_state('{"_data_files": []}'), "data holds no rows"),
    "a lost shard": (with_state('{"_data_files": [{"filename": "x.arrow"}]}'), "x.arrow is missing, but"),
    "a shard elsewhere": (
        with_state('{"_data_files": [{"filename": "../x.arrow"}]}'),
        "state.json names the file '../x.arrow', which is not in its own folder",
    ),
    "indices": (with_state('{"_indices_data_files": [{}]}'), "keeps its rows by a list of indices"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_says_what_to_name(tmp_path, case):
    make, message = REFUSED[case]
    path = make(tmp_path / "data")
    with pytest.raises(ValueError, match=message):
        find_table(path)
    with pytest.raises(ValueError, match=message):  # before anything heavy
        LabelledPaths(train_file=path)


def test_a_pattern_is_for_tables_of_one_format(tmp_path):
    write_parquet(tmp_path / "a.parquet", TABLE)
    write_lines(tmp_path / "b.jsonl", ROWS)
    with pytest.raises(ValueError, match=r"\* matches a.parquet, b.jsonl; a pattern is for .parquet files"):
        find_table(tmp_path / "*")


def test_a_dev_split_is_the_same_whatever_the_rows_are_written_in(tmp_path):
    lines = write_lines(tmp_path / "a.jsonl", ROWS)
    files = TASKS["sequence_classification"].files
    parts = [
        LabelledFile(path, files, DatasetConfig()).split(0.2, 1)
        for path in (lines, write_shards(tmp_path / "hub", TABLE), write_folder(tmp_path / "saved", TABLE))
    ]
    assert len({(train.fingerprint, dev.digest) for train, dev in parts}) == 1
    assert parts[0][1].num_examples == 4
