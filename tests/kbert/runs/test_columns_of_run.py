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


def test_labelled_words_are_refused_for_a_run_that_labels_words(tmp_path):
    dataset = {"labels": ["O", "B-ORG"]}
    (tmp_path / "run.json").write_text(json.dumps({"task": "token_classification", "task_config": {}}))
    (tmp_path / "config.json").write_text(json.dumps({"dataset": dataset}))
    (tmp_path / "a.conll").write_text("EU B-ORG\nsaid O\n")
    (tmp_path / "a.txt").write_text("EU said.\nNo.\n")
    assert count_inputs_of_run(tmp_path / "a.txt", tmp_path) == 2
    with pytest.raises(ValueError, match="a.conll has 'EU B-ORG' where a text is expected"):
        count_inputs_of_run(tmp_path / "a.conll", tmp_path)
