"""Which files a path names, and what is said where it names none."""

import contextlib
import json

import pyarrow as pa
import pytest

from kbert.config import DatasetConfig
from kbert.experiments.labelled_file import LabelledFile
from kbert.input_pipelines.tables.table_paths import (
    find_table,
    require_one_split,
    source_digest,
    source_files,
)
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


def test_a_folder_that_keeps_a_part_of_its_files_is_refused(tmp_path):
    """`datasets` before 1.6 copied the whole file for "train[:80%]", and kept the part in state.json."""
    folder = write_folder(tmp_path / "saved", TABLE, num_shards=1)

    def keep(**part):
        entry = {"filename": "data-00000-of-00001.arrow"} | part
        (folder / "state.json").write_text(json.dumps({"_data_files": [entry]}))

    for part in ({"skip": 0, "take": 20}, {"skip": 0, "take": None}):
        keep(**part)
        assert len(source_files(folder)) == 1
    for part in ({"skip": 0, "take": 16}, {"skip": 16, "take": 4}):
        keep(**part)
        with pytest.raises(ValueError, match=f"skip {part['skip']}, take {part['take']}.*save_to_disk"):
            source_files(folder)


def test_a_file_of_a_pattern_with_several_names_is_read_once(tmp_path):
    file = write_parquet(tmp_path / "a.parquet", TABLE)
    (tmp_path / "b.parquet").symlink_to("a.parquet")
    for name in ("again", "round"):  # glob follows them until the system refuses
        (tmp_path / name).symlink_to(".")
    for pattern in ("*.parquet", "**/*.parquet"):
        assert find_table(tmp_path / pattern).files == (file,)


@pytest.mark.parametrize(
    ("names", "pattern", "wrong"),
    [
        (["data/train-00000-of-00001", "data/test-00000-of-00001"], "data/*", "of several splits"),
        (["a/train/0000", "a/validation/0000"], "a/*/*", "of several splits"),
        (["my_train_sft", "my_dev"], "my*", "of several splits"),
        (["train-00000-of-00002"], "train-*", "train-00001-of-00002 is missing among the 2"),
        (["train-00000-of-00001", "train-00001-of-00002"], "train-*", "written more than once"),
        (["train-00000-of-00002"], "train-00000*", None),
        (["train-00000-of-00002-6f3f5a9b1c2d3e4f", "train-00001-of-00002-a1b2c3d4e5f60718"], "train-*", None),
        (["train-00000-of-00002-6f3f5a9b1c2d3e4f"], "train-*", "train-00001-of-00002 is missing"),
        (["train-00000-of-00001", "train-00000-of-00001-6f3f5a9b1c2d3e4f"], "train-*", "more than once"),
        (["part-00001-of-00002", "part-00002-of-00002"], "part-*", None),
        (["train-00000-of-00001", "test-00000-of-00001"], "tr*", None),
        (["b/train/x-00000-of-00001", "c/train/x-00000-of-00001", "testing/train/0"], "*/train/*", None),
        (["part-0", "part-1", "attestation"], "*", None),
        (["test/train-0", "test/extra"], "test/*", None),
    ],
)
def test_a_pattern_names_all_files_of_one_split(tmp_path, names, pattern, wrong):
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_parquet(tmp_path / f"{name}.parquet", TABLE)
    path = tmp_path / f"{pattern}.parquet"
    of_splits = wrong == "of several splits"  # which may all be asked, and not be trained on
    for check, refuses in ((require_one_split, of_splits), (find_table, bool(wrong) and not of_splits)):
        with pytest.raises(ValueError, match=wrong) if refuses else contextlib.nullcontext():
            check(path)


def test_a_dev_split_is_the_same_whatever_the_rows_are_written_in(tmp_path):
    lines = write_lines(tmp_path / "a.jsonl", ROWS)
    files = TASKS["sequence_classification"].files
    parts = [
        LabelledFile(path, files, DatasetConfig()).split(0.2, 1)
        for path in (lines, write_shards(tmp_path / "hub", TABLE), write_folder(tmp_path / "saved", TABLE))
    ]
    assert len({(train.fingerprint, dev.digest) for train, dev in parts}) == 1
    assert parts[0][1].num_examples == 4


@pytest.mark.parametrize(
    ("pattern", "name"), [("", "0_9.txt"), ("*/*.txt", "0_9.txt"), ("", "49960"), ("*/*", "49960")]
)
def test_a_folder_for_each_label_is_told_how_to_become_rows(tmp_path, pattern, name):
    for label in ("pos", "neg"):
        (tmp_path / label).mkdir()
        (tmp_path / label / name).write_text("A good film.")
    with pytest.raises(ValueError, match=r"file for each text, in folders \(neg, pos\)\. Make rows of"):
        find_table(tmp_path / pattern)


def test_tables_without_an_ending_may_stand_in_several_folders(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        write_parquet(tmp_path / folder / "part-0", TABLE)
    assert len(find_table(tmp_path / "*" / "part-*", "parquet").files) == 2


def test_values_in_names_of_folders_are_not_lost(tmp_path):
    file = tmp_path / "rows" / "label=1" / "part.parquet"
    file.parent.mkdir(parents=True)
    file.touch()
    with pytest.raises(ValueError, match=r"names of folders \(label=1\), which are not read; .*to_parquet"):
        find_table(tmp_path / "rows")
    write_parquet(file, pa.table({"text": ["a"]}))
    with pytest.raises(
        ValueError, match=r"no column 'label'.*\n.*names of folders \(label=1\).*/rows'\)\.to"
    ):
        LabelledFile(
            tmp_path / "rows" / "*" / "*.parquet", TASKS["sequence_classification"].files, DatasetConfig()
        )
    for folder in (
        tmp_path / "rows" / "label=0" / "part",
        tmp_path / "label",
        tmp_path / "run=3" / "label=1",
    ):
        folder.mkdir(parents=True)
        write_parquet(folder / "a.parquet", pa.table({"text": ["a"]}))
    with pytest.raises(ValueError, match=r"rows is a folder with values in names of folders \(label=0\)"):
        find_table(tmp_path / "rows")
    # A folder that only has the name of a column holds no values.
    with pytest.raises(ValueError) as error:
        LabelledFile(
            tmp_path / "label" / "a.parquet", TASKS["sequence_classification"].files, DatasetConfig()
        )
    assert "values in names" not in str(error.value)
    with pytest.raises(ValueError, match=r"run=3 is a folder with values in names of folders \(label=1\)"):
        LabelledFile(
            tmp_path / "run=3" / "*" / "*.parquet", TASKS["sequence_classification"].files, DatasetConfig()
        )


def test_a_folder_of_datasets_is_arrow_whatever_the_other_files_are(tmp_path):
    """As a run says of its files: its later data may be such a folder."""
    folder = write_folder(tmp_path / "saved", TABLE)
    assert find_table(folder, "csv") == find_table(folder, "arrow") == find_table(folder)
