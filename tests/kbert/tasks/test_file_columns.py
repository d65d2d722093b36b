"""What is known of a file's columns without TensorFlow is what the tasks themselves refuse."""

import json
import subprocess
import sys

import pytest

from kbert.config import DatasetConfig
from kbert.input_pipelines.json_rows import MissingColumn
from kbert.tasks.file_columns import check_file

ROW = {"text": "jump", "text_pair": "walk", "ending0": "look", "ending1": "see", "label": "1"}
# Without which columns a file is refused; those of SQuAD and CoNLL have a form of their own.
COLUMNS = {
    "sequence_classification": {"text", "text_pair", "label"},
    "multi_label_classification": {"text", "text_pair", "label"},
    "sequence_regression": {"text", "text_pair", "label"},
    "multiple_choice": set(ROW),
    "cosine_similarity": {"text", "text_pair", "label"},
    "sparse_embedding": {"text", "text_pair"},
    "late_interaction": {"text", "text_pair"},
    "multiple_negatives_ranking": {"text", "text_pair"},  # a file without scores has no label
}


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


def test_files_are_known_without_tensorflow():
    script = (
        "import sys; from kbert.tasks.file_columns import _FILES, task_files; list(map(task_files, _FILES)); "
        "print([name for name in ('tensorflow', 'keras') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize("ending", ["tsv", "jsonl"])
@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_that_the_task_reads_is_missed(tmp_path, name, ending):
    dataset, refused = dataset_of(name), set()
    for missing in (None, *ROW):
        row = {column: cell for column, cell in ROW.items() if column != missing}
        refused.add((missing, refused_column(name, write(tmp_path / f"{missing}.{ending}", row), dataset)))
    assert refused == {(column, column if column in COLUMNS[name] else None) for column in (None, *ROW)}
