"""What is known of a file's columns without TensorFlow is what the tasks themselves refuse."""

import json
import subprocess
import sys

import pytest

from kbert.config import DatasetConfig
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.tasks import TASKS
from kbert.tasks.file_columns import _FILES, ALWAYS_TAKEN, check_file, task_columns, task_files, task_inputs

ROW = {"text": "jump", "text_pair": "walk", "ending0": "look", "ending1": "see", "label": "1"}
FILES = {"question_answering": "SQuAD's JSON", "token_classification": "CoNLL's columns or words in JSON"}


def dataset_of(name):
    choices = ("ending0", "ending1") if name == "multiple_choice" else ()
    return DatasetConfig(text_pair="text_pair", choices=choices)


def write(path, row):
    if path.suffix == ".jsonl":
        path.write_text(json.dumps(row) + "\n")
    else:
        path.write_text("\t".join(row) + "\n" + "\t".join(row.values()) + "\n")
    return path


def refused_column(name, path, dataset):
    """The column of a message, or None where nothing is refused."""
    try:
        check_file(name, path, dataset)
    except MissingColumn as error:
        return error.column
    return None


def test_every_task_that_reads_labelled_files_is_known():
    own = {name: TASKS[name].files for name in TASKS if TASKS[name].files}
    assert own.keys() == _FILES.keys()
    for name, files in own.items():
        known = task_files(name)
        assert type(known) is type(files) and vars(known) == vars(files)


def test_files_are_known_without_tensorflow():
    script = (
        "import sys; from kbert.tasks.file_columns import _FILES, task_files; list(map(task_files, _FILES)); "
        "print([name for name in ('tensorflow', 'keras') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("ending", ["tsv", "jsonl"])
@pytest.mark.parametrize("name", [name for name in _FILES if name not in FILES])
def test_a_column_that_the_task_reads_is_missed(tmp_path, name, ending):
    dataset, refused = dataset_of(name), set()
    for missing in (None, *ROW):
        row = {column: cell for column, cell in ROW.items() if column != missing}
        refused.add((missing, refused_column(name, write(tmp_path / f"{missing}.{ending}", row), dataset)))
    columns = {*task_columns(name, dataset)} | ({"label"} if name == "multi_label_classification" else set())
    assert refused == {(column, column if column in columns else None) for column in (None, *ROW)}


@pytest.mark.parametrize("takes_pairs", [None, False, True])
@pytest.mark.parametrize("name", TASKS)
def test_the_task_answers_the_same_inputs(name, takes_pairs):
    task = TASKS[name].from_labels(("quiet", "loud"))
    if hasattr(task, "takes_pairs"):
        task.takes_pairs = takes_pairs
    known, serving = task_inputs(name, task.get_config()), task.serving
    assert known == ((serving.inputs, *serving.other_inputs.values()) if serving else ())
    assert not known or any(set(always) <= set(inputs) for always in ALWAYS_TAKEN for inputs in known)
