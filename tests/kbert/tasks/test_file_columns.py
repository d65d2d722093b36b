"""What is known of a file's columns without TensorFlow is what the tasks themselves refuse."""

import json

import pytest

from kbert.config import DatasetConfig
from kbert.tasks import TASKS
from kbert.tasks.file_columns import _COLUMNS, ALWAYS_TAKEN, inputs_of, require_columns

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


def refusal(read):
    """The columns of a message, or None where nothing is refused."""
    try:
        read()
    except ValueError as error:
        assert "has no column" in str(error)
        return str(error).split("has no column ")[1].split(";")[0]


def test_every_task_that_reads_files_with_columns_is_known():
    assert {name for name in TASKS if TASKS[name].files} == {*_COLUMNS, *FILES}


@pytest.mark.parametrize("ending", ["tsv", "jsonl"])
@pytest.mark.parametrize("name", _COLUMNS)
def test_the_task_refuses_the_same_columns(tmp_path, name, ending):
    dataset, refused = dataset_of(name), set()
    for missing in (None, *ROW):
        row = {column: cell for column, cell in ROW.items() if column != missing}
        path = write(tmp_path / f"{missing}.{ending}", row)
        early = refusal(lambda path=path: require_columns(name, path, dataset))
        assert early == refusal(lambda path=path: list(TASKS[name].files.read_examples(path, dataset)))
        refused |= {missing} if early else set()
    assert None not in refused and {"text", "text_pair"} <= refused


@pytest.mark.parametrize("takes_pairs", [None, False, True])
@pytest.mark.parametrize("name", TASKS)
def test_the_task_answers_the_same_inputs(name, takes_pairs):
    task = TASKS[name].from_labels(("quiet", "loud"))
    if hasattr(task, "takes_pairs"):
        task.takes_pairs = takes_pairs
    known, serving = inputs_of(name, task.get_config()), task.serving
    assert known == ((serving.inputs, *serving.other_inputs.values()) if serving else ())
    assert not known or any(set(always) <= set(inputs) for always in ALWAYS_TAKEN for inputs in known)
