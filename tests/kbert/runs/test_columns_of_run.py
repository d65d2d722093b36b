"""What is asked of a file for a run, and of which runs nothing is asked."""

import json
import shutil

import pytest

from kbert.runs.columns_of_run import count_inputs_of_run, require_columns_of_model


@pytest.fixture
def run_dir(pair_run, tmp_path):
    """A copy of run.json and config.json of a run on pairs."""
    folder = tmp_path / "run"
    folder.mkdir()
    for name in ("run.json", "config.json"):
        shutil.copy(pair_run.path / name, folder)
    return folder


def test_files_of_the_run_pass_and_others_do_not(run_dir, labelled_files, tmp_path):
    other = tmp_path / "other.csv"
    other.write_text("sentence,label\nHot soup.,good\n")
    for require in (require_columns_of_model, count_inputs_of_run):
        require(labelled_files[0], run_dir)
        with pytest.raises(ValueError, match="sentence"):
            require(other, run_dir)


@pytest.mark.parametrize("header", ["text,Context,n", "text,questions,n", "question,context,txt"])
def test_columns_that_another_kind_of_model_reads_are_no_slips(tmp_path, header):
    """Of a checkpoint of others is known later what it reads."""
    file = tmp_path / "rows.csv"
    file.write_text(f"{header}\na,b,c\n")
    assert count_inputs_of_run(file, tmp_path / "checkpoint") == 1
    file.write_text("Text\na\n")
    with pytest.raises(ValueError, match="Text"):
        count_inputs_of_run(file, tmp_path / "checkpoint")


def test_objects_for_questions_are_no_texts(tmp_path, caplog):
    (tmp_path / "q.txt").write_text('{"question": "a", "context": "b"}\n')
    assert count_inputs_of_run(tmp_path / "q.txt", tmp_path / "checkpoint") == 1
    assert not caplog.text


def test_labelled_words_are_refused_for_a_run_that_labels_words(tmp_path):
    dataset = {"labels": ["O", "B-ORG"]}
    (tmp_path / "run.json").write_text(json.dumps({"task": "token_classification", "task_config": {}}))
    (tmp_path / "config.json").write_text(json.dumps({"dataset": dataset}))
    (tmp_path / "a.conll").write_text("EU B-ORG\nsaid O\n")
    (tmp_path / "a.txt").write_text("EU said.\nNo.\n")
    assert count_inputs_of_run(tmp_path / "a.txt", tmp_path) == 2
    with pytest.raises(ValueError, match="a.conll has 'EU B-ORG' where a text is expected"):
        count_inputs_of_run(tmp_path / "a.conll", tmp_path)
